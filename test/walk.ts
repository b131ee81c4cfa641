import type {Answered, Call} from './client.ts'

/** A browser on its way through the identity provider, one step at a time. */
export type Visit = {url: string; cookie: string}

type Consent = {user?: string; decision?: 'allow' | 'deny'; more?: Record<string, string>}

/** The first step of a sign-in: where the browser is sent, and the cookie it was given. */
export const beginVisit = async (call: Call, query: Record<string, string> = {}): Promise<Visit> =>
  visitOf(await call('GET', `/auth/zoho/start?${new URLSearchParams({dc: 'local', ...query})}`))

export const visitOf = ({status, headers, body}: Answered): Visit => {
  const url = headers.get('location') ?? body.url
  if (!url) throw new Error(`The visit did not begin: ${status} ${JSON.stringify(body)}`)
  return {url, cookie: cookieOf(headers)}
}

/** Name and value of what was set, as the browser sends it back. */
export const cookieOf = (headers: Headers) =>
  headers
    .getSetCookie()
    .map(cookie => cookie.split(';')[0])
    .join('; ')

/** Says yes (or no) at the stand-in and answers the path and query the browser is sent back to. */
export const consent = async ({url}: Visit, {user = 'ana@example.org', decision = 'allow', more = {}}: Consent = {}): Promise<string> => {
  const query = new URLSearchParams({sim_user: user, sim_decision: decision, ...more})
  const answer = await fetch(`${url}&${query}`, {redirect: 'manual'})
  const location = answer.headers.get('location')
  if (!location) throw new Error(`The stand-in did not send the browser back: ${answer.status} ${await answer.text()}`)
  const {pathname, search} = new URL(location)
  return pathname + search
}

export const comeBack = (call: Call, back: string, cookie: string): Promise<Answered> =>
  call('GET', back, undefined, {cookie, accept: 'text/html'})

/** What the last page posts to its opener. */
export const messageOf = ({status, text}: Answered): any => {
  const [, json] = /<script type="application\/json" id="message">(.*?)<\/script>/s.exec(text) ?? []
  if (!json) throw new Error(`No message in a page of status ${status}: ${text}`)
  return JSON.parse(json)
}
