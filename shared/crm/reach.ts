import type {CrmOrg} from '../../sql/allowances.ts'
import {Refusal} from '../errors.ts'
import type {Allowances, Pass} from './allowance.ts'
import type {Answer, Call, Client} from './client.ts'
import {CrmError, type CrmProblem, isCrowded} from './error.ts'
import type {Access, Granted, Grants} from './grant.ts'
import {calledOff, type Pace} from './guests.ts'
import {listIn, type Outcome, readProblem, silentOn} from './outcome.ts'

type Asked = Pick<Call, 'operation' | 'method' | 'path' | 'query' | 'signal' | 'mayLeave'> & {
  json?: string
  /** One of the CRM's large calls: a query, or a write of more than ten records. Source: wire reference 10. */
  large?: boolean
  /** What the answer says of the credits is written down at once. */
  exact?: boolean
  /** While the day is spent: the minute's call or none. */
  onlyAsProbe?: boolean
}
/** One call under the connection's own access. Throws Refusal for what keeps it from being sent. */
export type Reach = (asked: Asked) => Promise<Outcome>

type Place = Granted & {apiDomain: string; crmOrg: CrmOrg; upkeep: boolean; pace: Pace}

/** Cured by another access token; a scope that is missing is not (`OAUTH_SCOPE_MISMATCH`). */
const deadTokenCodes = ['INVALID_TOKEN', 'AUTHENTICATION_FAILURE']
/** The one at hand, one that another process left, and a new one. */
const mostTokens = 3

/**
 * Every call passes here: the access first, then a slot, then the allowance's gate, so that the minute's one call is not taken by
 * what cannot be sent. A token the CRM does not take is renewed once, and the call sent once more: the 401 says that nothing was done. Where
 * another one lay ready that turns out dead too, the renewal comes after that.
 */
export const reachFrom = ({client, grants, allowances}: {client: Client; grants: Grants; allowances: Allowances}, place: Place): Reach => {
  const send = async ({json, exact: _, onlyAsProbe: __, large: ___, mayLeave, ...asked}: Asked, token: string, pass: Pass) => {
    let isTooLate = false
    const answer = await client.call({
      ...asked,
      ...(mayLeave && {mayLeave: () => !(isTooLate = !mayLeave())}),
      origin: place.apiDomain,
      authorization: `Zoho-oauthtoken ${token}`,
      ...(json !== undefined && {body: {type: 'application/json', text: json}}),
    })
    if (isTooLate) throw calledOff()
    await pass.note(answer)
    return answer
  }
  const sendOrRenew = async (asked: Asked, token: string, pass: Pass, tries = 1): Promise<Outcome> => {
    const answer = await send(asked, token, pass)
    if (answer.status !== 401 || tries === mostTokens) return answer
    const refused = readProblem(answer)!
    if (!deadTokenCodes.includes(refused.code ?? '')) {
      grants.forget(place.connector)
      return answer
    }
    const access = await replace(grants, place, token, refused)
    if ('problem' in access) return access
    return access.minted ? send(asked, access.token, pass) : sendOrRenew(asked, access.token, pass, tries + 1)
  }
  return async asked => {
    const token = await grants.token(place)
    assertWanted(asked)
    const {exact = false, onlyAsProbe = false, large = false, signal} = asked
    const slot = await place.pace.enter({large, signal})
    try {
      const pass = await allowances.enter(place.crmOrg, {upkeep: place.upkeep, exact, onlyAsProbe})
      const outcome = await sendWith(pass, () => sendOrRenew(asked, token, pass), asked)
      const problem = readProblem(outcome)
      if (problem && isCrowded(problem)) await slot.crowded()
      return outcome
    } finally {
      slot.leave()
    }
  }
}

const sendWith = async (pass: Pass, send: () => Promise<Outcome>, asked: Asked): Promise<Outcome> => {
  try {
    assertWanted(asked)
    return await send()
  } finally {
    pass.leave()
  }
}

const assertWanted = ({signal}: Asked) => {
  if (signal?.aborted) throw calledOff()
}

/** A renewal throttled only after the CRM was reached is the CRM's own refusal of this call; the connection stays as it is. */
const replace = async (grants: Grants, place: Place, dead: string, refused: CrmProblem): Promise<Access | {problem: CrmProblem}> => {
  try {
    return await grants.replace(place, dead)
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
