import type {Call, HttpAnswer} from './client.ts'

/** Where a browser is in a sign-in: the address of the identity provider, and its cookie with us. */
export type Visit = {url: string; cookie: string}

type Consent = {user?: string; decision?: 'allow' | 'deny'; more?: Record<string, string>}

/** Begins a sign-in. Returns the redirect and the cookie. */
export const beginVisit = async (call: Call, query: Record<string, string> = {}): Promise<Visit> =>
  visitOf(await call('GET', `/auth/zoho/start?${new URLSearchParams({dc: 'local', ...query})}`))

export const visitOf = ({status, headers, body}: HttpAnswer): Visit => {
  const url = headers.get('location') ?? body.url
  if (!url) throw new Error(`The visit did not begin: ${status} ${JSON.stringify(body)}`)
  return {url, cookie: cookieOf(headers)}
}

/** Returns the cookies of an answer as a browser sends them. */
export const cookieOf = (headers: Headers) =>
  headers
    .getSetCookie()
    .map(cookie => cookie.split(';')[0])
    .join('; ')

/** Submits the consent page of the stand-in. Returns path and query of the redirect to our API. */
export const consent = async ({url}: Visit, {user = 'ana@example.org', decision = 'allow', more = {}}: Consent = {}): Promise<string> => {
  const query = new URLSearchParams({sim_user: user, sim_decision: decision, ...more})
  const answer = await fetch(`${url}&${query}`, {redirect: 'manual'})
  const location = answer.headers.get('location')
  if (!location) throw new Error(`The stand-in did not send the browser back: ${answer.status} ${await answer.text()}`)
  const {pathname, search} = new URL(location)
  return pathname + search
}

export const comeBack = (call: Call, back: string, cookie: string): Promise<HttpAnswer> =>
  call('GET', back, undefined, {cookie, accept: 'text/html'})

/** Returns the message that the last page posts to its opener. */
export const messageOf = ({status, text}: Pick<HttpAnswer, 'status' | 'text'>): any => {
  const [, json] = /<script type="application\/json" id="message">(.*?)<\/script>/s.exec(text) ?? []
  if (!json) throw new Error(`No message in a page of status ${status}: ${text}`)
  return JSON.parse(json)
}
