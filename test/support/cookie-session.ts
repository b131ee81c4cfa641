import type {Call} from './client.ts'
import type {Deployment} from './deployment.ts'
import {beginVisit, comeBack, consent, cookieOf, messageOf} from './walk.ts'

type PageSignIn = {user?: string; query?: Record<string, string>; scopes?: (all: string[]) => string[]; former?: string}

/** Signs in as our own page does. Returns the page and its message, the `Set-Cookie` value and the cookie. `scopes`: what the person grants. */
export const signInOnPage = async (
  {as}: Pick<Deployment, 'as'>,
  {user = 'ana@example.org', query = {}, scopes = all => all, former}: PageSignIn = {},
) => {
  const visit = await beginVisit(as(null), {session: 'cookie', connect: 'true', ...query})
  const url = new URL(visit.url)
  url.searchParams.set('scope', scopes(url.searchParams.get('scope')!.split(',')).join(','))
  const back = await consent({...visit, url: url.href}, {user})
  const page = await comeBack(as(null), back, [visit.cookie, former].filter(Boolean).join('; '))
  return {page, message: messageOf(page), setCookie: page.headers.getSetCookie(), cookie: cookieOf(page.headers)}
}

/** Returns a function that sends requests as a page of our own origin does. */
export const callFromPage =
  ({as, config, url}: Pick<Deployment, 'as' | 'config' | 'url'>, cookie: string): Call =>
  (method, path, body, headers = {}) =>
    as(null)(method, path, body, {cookie, 'x-lading-csrf': '1', ...originOf({config, url}, method), ...headers})

/** Returns the `Origin` header, which a browser sends with every request of a page that is not a GET. */
const originOf = ({config, url}: Pick<Deployment, 'config' | 'url'>, method: string) =>
  method === 'GET' ? {} : {origin: new URL(config.PUBLIC_URL.endsWith(':0') ? url : config.PUBLIC_URL).origin}
