import type {Pool} from '../../sql/database.ts'
import {noteClientUse} from '../../sql/oauth-clients.ts'
import {allowRequest, denyRequest, findRequest, listOpenOrgs, lockRequest, type OAuthRequest} from '../../sql/oauth-requests.ts'
import {isBanned} from '../../sql/people.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {mintSecret} from '../people/api-token.ts'
import {hashOf} from '../people/sign-in.ts'
import {readSignedId} from '../people/signed.ts'
import {answerTo} from './authorise.ts'

/** From the click to the client's own request. */
const codeSeconds = 60

type Tools = {db: Pool; config: Pick<Config, 'PUBLIC_URL' | 'SESSION_KEYS'>}
/** `request` as the page carries it, `browser` as the cookie does: each is worthless without the other. */
type Visit = {request: string | undefined; browser: string | null}

/** What the page shows: who asks, for whom, and where that person may let it in. */
export type Consent = {request: OAuthRequest & {person: string}; orgs: {id: string; name: string}[]}

export const readConsent = async ({db, config}: Tools, visit: Visit): Promise<Consent> => {
  const of = await identify(config, visit)
  const request = of && (await findRequest(db, of))
  if (!request?.person) throw over()
  return {request: {...request, person: request.person}, orgs: [...(await listOpenOrgs(db, request.person))]}
}

type Decision = {allow: boolean; org: string | undefined}

/** Decided once. Answers where the browser goes: back to the client, with a code or with `access_denied`. */
export const decide = async ({db, config}: Tools, visit: Visit, {allow, org}: Decision): Promise<string> => {
  const of = await identify(config, visit)
  if (!of) throw over()
  return db.transaction(async tx => {
    const request = await lockRequest(tx, of)
    if (!request?.person) throw over()
    const {redirectUri, clientState: state} = request
    if (!allow) {
      await denyRequest(tx, request.id)
      return answerTo(config, redirectUri, {error: 'access_denied', error_description: 'The person said no', state})
    }
    const chosen = (await listOpenOrgs(tx, request.person)).find(({id}) => id === org)
    if (!chosen) throw new Refusal('NOT_FOUND', 'You are not in that org any more. Start again from the program you came from')
    if (await isBanned(tx, request.person)) throw new Refusal('BANNED', 'This account has been blocked')
    const {secret, hash} = mintSecret('lading-code_')
    await allowRequest(tx, {id: request.id, org: chosen.id, codeHash: hash, seconds: codeSeconds})
    await noteClientUse(tx, request.clientId)
    return answerTo(config, redirectUri, {code: secret, state})
  })
}

const identify = async ({SESSION_KEYS}: Pick<Config, 'SESSION_KEYS'>, {request, browser}: Visit) => {
  const id = request === undefined ? null : await readSignedId(SESSION_KEYS, 'consent', request)
  return id !== null && browser !== null ? {id, browserHash: hashOf(browser)} : null
}

const over = () =>
  new Refusal(
    'SIGN_IN_EXPIRED',
    'This request took too long, was already answered, or began in another browser. Start again from the program you came from',
  )
