import {createHash, randomBytes} from 'node:crypto'
import type {HttpAnswer} from './client.ts'
import type {TestDeployment} from './test-deployment.ts'
import {comeBack, consent, cookieOf} from './walk.ts'

/** The redirect URI of the test's MCP client. */
export const redirectUri = 'http://127.0.0.1:33418/callback'

export const newVerifier = () => randomBytes(32).toString('base64url')
export const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

type OAuthClientPlace = Pick<TestDeployment, 'as' | 'url'>
type Bent = Record<string, string | undefined>

export const register = async ({as}: OAuthClientPlace, more: object = {}): Promise<string> => {
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

export const askFor = (
  {as, url}: OAuthClientPlace,
  client: string,
  verifier: string,
  more: Bent = {},
  headers = {},
): Promise<HttpAnswer> => {
  const asked = {
    response_type: 'code',
    client_id: client,
    redirect_uri: redirectUri,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    state: 'of the client',
    scope: 'mcp',
    resource: `${url}/mcp`,
  }
  return as(null)('GET', `/oauth/authorize?${queryOf({...asked, ...more})}`, undefined, headers)
}

/** Begins an authorisation, signs in and opens the consent page. */
export const reachPage = async (
  place: OAuthClientPlace,
  client: string,
  verifier: string,
  {user = 'ana@example.org', more = {} as Bent} = {},
) => signInFrom(place, await askFor(place, client, verifier, more), user)

/** Signs in from the response to an authorisation request, and opens the consent page. */
export const signInFrom = async ({as, url: own}: OAuthClientPlace, begun: HttpAnswer, user = 'ana@example.org') => {
  const url = begun.headers.get('location')
  if (begun.status !== 302 || !url) throw new Error(`Not begun: ${begun.status} ${begun.text}`)
  const cookie = cookieOf(begun.headers)
  const returned = await comeBack(as(null), await consent({url, cookie}, {user}), cookie)
  const path = returned.headers.get('location')?.replace(own, '')
  if (!path) throw new Error(`Not sent to the page: ${returned.status} ${returned.text}`)
  const page = await as(null)('GET', path, undefined, {cookie, accept: 'text/html'})
  return {page, path, cookie, request: new URLSearchParams(path.split('?')[1]).get('request')!}
}

type ReachedPage = Awaited<ReturnType<typeof reachPage>>

/** Submits the consent page, with its first org unless `more` names another. */
export const answerPage = (
  {as}: OAuthClientPlace,
  {page, cookie, request}: ReachedPage,
  {decision = 'allow', more = {} as Bent, headers = {}} = {},
) => {
  const [, org] = /<option value="([^"]+)"/.exec(page.text) ?? []
  return as(null)('POST', '/oauth/consent', queryOf({request, org, decision, ...more}), {...form, cookie, ...headers})
}

const form = {'content-type': 'application/x-www-form-urlencoded'}

export const parametersOf = ({headers}: HttpAnswer) => Object.fromEntries(new URL(headers.get('location')!).searchParams)

export const askToken = ({as}: OAuthClientPlace, pairs: Bent): Promise<HttpAnswer> => as(null)('POST', '/oauth/token', queryOf(pairs), form)

export const revoke = ({as}: OAuthClientPlace, pairs: Bent): Promise<HttpAnswer> => as(null)('POST', '/oauth/revoke', queryOf(pairs), form)

export const codeGrant = (client: string, code: string, verifier: string): Bent => ({
  grant_type: 'authorization_code',
  client_id: client,
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier,
})

/** Registers a client, grants it access as `user` and returns its tokens. */
export const letIn = async (place: OAuthClientPlace, {user = 'ana@example.org'} = {}) => {
  const [client, verifier] = [await register(place), newVerifier()]
  const answered = await answerPage(place, await reachPage(place, client, verifier, {user}))
  const {code} = parametersOf(answered)
  const {status, body, text} = await askToken(place, codeGrant(client, code!, verifier))
  if (status !== 200) throw new Error(`No token: ${status} ${text}`)
  return {client, verifier, code: code!, access: body.access_token as string, refresh: body.refresh_token as string}
}
