import type {CrmOrg} from '../../sql/allowances.ts'
import {Refusal} from '../errors.ts'
import type {Allowances, Pass} from './allowance.ts'
import type {Answer, Call, Client} from './client.ts'
import {CrmError, type CrmProblem} from './error.ts'
import type {Granted, Grants} from './grant.ts'
import {listIn, type Outcome, readProblem, silentOn} from './outcome.ts'

export type Asked = Pick<Call, 'method' | 'path' | 'query' | 'signal'> & {
  json?: string
  /** What the answer says of the credits is written down at once. */
  exact?: boolean
  /** While the day is spent: the minute's call or none. */
  onlyAsProbe?: boolean
}
/** One call under the connection's own access. Throws Refusal for what keeps it from being sent. */
export type Reach = (asked: Asked) => Promise<Outcome>

type Place = Granted & {apiDomain: string; crmOrg: CrmOrg; upkeep: boolean}

/** Cured by another access token; a scope that is missing is not (`OAUTH_SCOPE_MISMATCH`). */
const deadTokenCodes = ['INVALID_TOKEN', 'AUTHENTICATION_FAILURE']

/**
 * Every call passes here: the access first, then the allowance's gate, so that the minute's one call is not taken by what cannot be
 * sent. A token the CRM does not take is renewed once, and the call sent once more: the 401 says that nothing was done.
 */
export const reachFrom = ({client, grants, allowances}: {client: Client; grants: Grants; allowances: Allowances}, place: Place): Reach => {
  const send = async ({json, exact: _, onlyAsProbe: __, ...asked}: Asked, token: string, pass: Pass) => {
    const answer = await client.call({
      ...asked,
      origin: place.apiDomain,
      authorization: `Zoho-oauthtoken ${token}`,
      ...(json !== undefined && {body: {type: 'application/json', text: json}}),
    })
    await pass.note(answer)
    return answer
  }
  const sendOrRenew = async (asked: Asked, token: string, pass: Pass): Promise<Outcome> => {
    const answer = await send(asked, token, pass)
    if (answer.status !== 401) return answer
    const refused = readProblem(answer)!
    if (!deadTokenCodes.includes(refused.code ?? '')) {
      grants.forget(place.connector)
      return answer
    }
    const renewed = await renew(grants, place, token, refused)
    return typeof renewed === 'string' ? send(asked, renewed, pass) : renewed
  }
  return async asked => {
    const token = await grants.token(place)
    assertWanted(asked)
    const {exact = false, onlyAsProbe = false} = asked
    const pass = await allowances.enter(place.crmOrg, {upkeep: place.upkeep, exact, onlyAsProbe})
    try {
      assertWanted(asked)
      return await sendOrRenew(asked, token, pass)
    } finally {
      pass.leave()
    }
  }
}

const assertWanted = ({signal}: Asked) => {
  if (signal?.aborted) throw new Refusal('UNAVAILABLE', 'The call was called off before it was sent')
}

/** A renewal throttled only after the CRM was reached is the CRM's own refusal of this call; the connection stays as it is. */
const renew = async (grants: Grants, place: Place, dead: string, refused: CrmProblem): Promise<string | {problem: CrmProblem}> => {
  try {
    return await grants.token(place, dead)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'CONNECTION_THROTTLED') throw error
    const retryAfterMs = Number(error.extra.retryAfterMs)
    return {problem: {...refused, code: 'TOO_MANY_REQUESTS', retryable: true, rateLimited: true, retryAfterMs}}
  }
}

/** The answer to a read, once it is one. Throws CrmError. */
export const answerOf = (outcome: Outcome): Answer => {
  const problem = readProblem(outcome)
  if (problem) throw new CrmError(problem)
  return outcome as Answer
}

/** The list a read answers under `key`; empty for 204. Throws CrmError. */
export const listOf = (outcome: Outcome, key: string): unknown[] => {
  const answer = answerOf(outcome)
  const list = listIn(answer, key)
  if (!list) throw new CrmError(silentOn(answer))
  return list
}
