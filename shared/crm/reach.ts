import {Refusal} from '../errors.ts'
import type {Allowances} from './allowance.ts'
import type {Answer, Call, Client, Silence} from './client.ts'
import {CrmError, type CrmProblem} from './error.ts'
import type {Granted, Grants} from './grant.ts'
import {listIn, type Outcome, readProblem, silentOn} from './outcome.ts'

export type Asked = Pick<Call, 'method' | 'path' | 'query' | 'signal'> & {json?: string}
/** One call under the connection's own access. Throws Refusal for what keeps it from being sent. */
export type Reach = (asked: Asked) => Promise<Outcome>

type Place = Granted & {apiDomain: string; crmOrg: string}

/** Cured by another access token; a scope that is missing is not (`OAUTH_SCOPE_MISMATCH`). */
const deadTokenCodes = ['INVALID_TOKEN', 'AUTHENTICATION_FAILURE']

/** A token the CRM does not take is renewed once, and the call sent once more: the 401 says that nothing was done. */
export const reachFrom = ({client, grants, allowances}: {client: Client; grants: Grants; allowances: Allowances}, place: Place): Reach => {
  const send = ({json, ...asked}: Asked, token: string) =>
    client.call({
      ...asked,
      origin: place.apiDomain,
      authorization: `Zoho-oauthtoken ${token}`,
      ...(json !== undefined && {body: {type: 'application/json', text: json}}),
    })
  const note = (outcome: Outcome) => {
    allowances.note(place.crmOrg, outcome, readProblem(outcome))
    return outcome
  }
  return async asked => {
    const token = await grants.token(place)
    if (asked.signal?.aborted) throw new Refusal('UNAVAILABLE', 'The call was called off before it was sent')
    const answer = note(await send(asked, token)) as Answer | Silence
    if (answer.status !== 401) return answer
    const refused = readProblem(answer)!
    if (!deadTokenCodes.includes(refused.code ?? '')) {
      grants.forget(place.connector)
      return answer
    }
    const renewed = await renew(grants, place, token, refused)
    return typeof renewed === 'string' ? note(await send(asked, renewed)) : renewed
  }
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
