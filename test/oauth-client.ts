import {createHash, randomBytes} from 'node:crypto'
import type {Answered} from './client.ts'
import {comeBack, consent, cookieOf} from './walk.ts'
import type {World} from './world.ts'

/** An MCP client on its way to a token, one step at a time, over real HTTP. What a step sends may be bent by `more`. */
export const redirectUri = 'http://127.0.0.1:33418/callback'

export const newVerifier = () => randomBytes(32).toString('base64url')
export const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

type Place = Pick<World, 'as' | 'url'>
type Bent = Record<string, string | undefined>

export const register = async ({as}: Place, more: object = {}): Promise<string> => {
  const {status, body, text} = await as(null)('POST', '/oauth/register', {
    client_name: 'Test Client',
    redirect_uris: [redirectUri],
    ...more,
  })
  if (status !== 201) throw new Error(`Not registered: ${status} ${text}`)
  return body.client_id
}

const queryOf = (pairs: Bent) =>
  new URLSearchParams(Object.entries(pairs).filter((pair): pair is [string, string] => pair[1] !== undefined)).toString()

export const askFor = ({as, url}: Place, client: string, verifier: string, more: Bent = {}, headers = {}): Promise<Answered> => {
  const asked = {
    ...{response_type: 'code', client_id: client, redirect_uri: redirectUri, code_challenge: challengeOf(verifier)},
    ...{code_challenge_method: 'S256', state: 'of the client', scope: 'mcp', resource: `${url}/mcp`},
  }
  return as(null)('GET', `/oauth/authorize?${queryOf({...asked, ...more})}`, undefined, headers)
}

/** The browser, signed in and at the page that asks. */
export const reachPage = async (place: Place, client: string, verifier: string, {user = 'ana@example.org', more = {} as Bent} = {}) =>
  signInFrom(place, await askFor(place, client, verifier, more), user)

/** From the answer to a client's request on. */
export const signInFrom = async ({as, url: own}: Place, begun: Answered, user = 'ana@example.org') => {
  const url = begun.headers.get('location')
  if (begun.status !== 302 || !url) throw new Error(`Not begun: ${begun.status} ${begun.text}`)
  const cookie = cookieOf(begun.headers)
  const returned = await comeBack(as(null), await consent({url, cookie}, {user}), cookie)
  const path = returned.headers.get('location')?.replace(own, '')
  if (!path) throw new Error(`Not sent to the page: ${returned.status} ${returned.text}`)
  const page = await as(null)('GET', path, undefined, {cookie, accept: 'text/html'})
  return {page, path, cookie, request: new URLSearchParams(path.split('?')[1]).get('request')!}
}

type Reached = Awaited<ReturnType<typeof reachPage>>

/** The org the page offers first, where none is named. */
export const answerPage = ({as}: Place, {page, cookie, request}: Reached, {decision = 'allow', more = {} as Bent, headers = {}} = {}) => {
  const [, org] = /<option value="([^"]+)"/.exec(page.text) ?? []
  return as(null)('POST', '/oauth/consent', queryOf({request, org, decision, ...more}), {...form, cookie, ...headers})
}

const form = {'content-type': 'application/x-www-form-urlencoded'}

export const parametersOf = ({headers}: Answered) => Object.fromEntries(new URL(headers.get('location')!).searchParams)

export const askToken = ({as}: Place, pairs: Bent): Promise<Answered> => as(null)('POST', '/oauth/token', queryOf(pairs), form)

export const revoke = ({as}: Place, pairs: Bent): Promise<Answered> => as(null)('POST', '/oauth/revoke', queryOf(pairs), form)

export const codeGrant = (client: string, code: string, verifier: string): Bent => ({
  ...{grant_type: 'authorization_code', client_id: client, code, redirect_uri: redirectUri, code_verifier: verifier},
})

/** All of it: a client of its own, let in by `user`. */
export const letIn = async (place: Place, {user = 'ana@example.org'} = {}) => {
  const [client, verifier] = [await register(place), newVerifier()]
  const answered = await answerPage(place, await reachPage(place, client, verifier, {user}))
  const {code} = parametersOf(answered)
  const {status, body, text} = await askToken(place, codeGrant(client, code!, verifier))
  if (status !== 200) throw new Error(`No token: ${status} ${text}`)
  return {client, verifier, code: code!, access: body.access_token as string, refresh: body.refresh_token as string}
}
