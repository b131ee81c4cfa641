import type {CrmOrg} from '../../sql/crm-quota.ts'
import {Refusal} from '../errors.ts'
import type {CrmOperation} from '../telemetry/metrics/crm.ts'
import type {Call, Client, CrmResponse} from './client.ts'
import {CrmError, type CrmProblem, isCrowded} from './error.ts'
import type {AccessToken, GrantHolder, Grants} from './grant.ts'
import {callCancelled, type RateLimiter} from './limits/adhoc-limiter.ts'
import type {CrmQuotas, QuotaPass} from './limits/quota.ts'
import {type CrmCallOutcome, listIn, readProblem, type ThrottledRenewal, unanswered204, waitOf} from './outcome.ts'

type CrmRequest = Pick<
  Call,
  'operation' | 'method' | 'path' | 'query' | 'headers' | 'signal' | 'mayLeave' | 'receive' | 'timeoutSeconds'
> & {
  /** A host of the CRM other than its API host. The host receives the access token. */
  origin?: string
  json?: string
  body?: Call['body']
  /** Marks a large call: a query, or a write of more than ten records. Source: zoho.com/crm/developer/docs/api/v8/api-limits.html. */
  large?: boolean
  /** The API credits that the call costs. Default 1. */
  credits?: number
  /** Stores the remaining credits, which the answer states, at once. Without this option, they are stored at most every ten seconds. */
  exact?: boolean
  /** While the quota is exhausted, the call is sent only if it is the probe call. */
  onlyAsProbe?: boolean
}
/** Sends one call with the connection's access token. Throws Refusal if the call cannot be sent. */
export type SendCrmRequest = (crmRequest: CrmRequest) => Promise<CrmCallOutcome>

/** A call that the CRM executed or may have executed. `credits`: the price of the call by the vendor's list. */
export type PricedCall = {operation: CrmOperation; credits: number; ms: number}

type RequestContext = GrantHolder & {
  apiDomain: string
  crmOrg: CrmOrg
  upkeep: boolean
  limiter: RateLimiter
  onCall(call: PricedCall): void
}

/** The statuses of answers that cost no credits, because the CRM did not execute the call. */
const unpriced = new Set([401, 429])

/** Error codes after which a new access token helps. A missing scope (`OAUTH_SCOPE_MISMATCH`) is not one of them. */
const deadTokenCodes = ['INVALID_TOKEN', 'AUTHENTICATION_FAILURE']
/** The maximum number of tokens of one call: the cached one, one that another process stored, and a new one. */
const mostTokens = 3

/**
 * The quota is checked after the token and a slot are available, so that a call without them never uses up the probe call. A 401 for a dead token
 * means that the CRM did nothing, so the call is repeated with another token. A token that another process stored is tried before a renewal.
 */
export const openCrmRequest = (
  {client, grants, allowances}: {client: Client; grants: Grants; allowances: CrmQuotas},
  requestContext: RequestContext,
): SendCrmRequest => {
  const send = async (
    {json, origin, body, exact: _, onlyAsProbe: __, large: ___, credits = 1, mayLeave, ...crmRequest}: CrmRequest,
    token: string,
    pass: QuotaPass,
  ) => {
    let isTooLate = false
    const since = performance.now()
    const answer = await client.call({
      ...crmRequest,
      ...(mayLeave && {mayLeave: () => !(isTooLate = !mayLeave())}),
      origin: origin ?? requestContext.apiDomain,
      authorization: `Zoho-oauthtoken ${token}`,
      ...(body && {body}),
      ...(json !== undefined && {body: {type: 'application/json', text: json}}),
    })
    if (isTooLate) throw callCancelled()
    if (!unpriced.has(answer.status ?? 0)) requestContext.onCall({operation: crmRequest.operation, credits, ms: performance.now() - since})
    await pass.note(answer)
    return answer
  }
  const sendOrRenew = async (crmRequest: CrmRequest, token: string, pass: QuotaPass, tries = 1): Promise<CrmCallOutcome> => {
    const answer = await send(crmRequest, token, pass)
    if (answer.status !== 401 || tries === mostTokens) return answer
    const refused = readProblem(answer)!
    if (!deadTokenCodes.includes(refused.code ?? '')) {
      grants.forget(requestContext.connector)
      return answer
    }
    const access = await renewAfterRefusal(grants, requestContext, token, refused)
    if ('problem' in access) return access
    return access.minted ? send(crmRequest, access.token, pass) : sendOrRenew(crmRequest, access.token, pass, tries + 1)
  }
  return async crmRequest => {
    const token = await grants.token(requestContext)
    assertWanted(crmRequest)
    const {exact = false, onlyAsProbe = false, large = false, signal} = crmRequest
    const slot = await requestContext.limiter.enter({large, signal})
    try {
      const pass = await allowances.enter(requestContext.crmOrg, {upkeep: requestContext.upkeep, exact, onlyAsProbe})
      const outcome = await sendWith(pass, () => sendOrRenew(crmRequest, token, pass), crmRequest)
      const problem = readProblem(outcome)
      if (problem && isCrowded(problem)) await slot.crowded()
      return outcome
    } finally {
      slot.leave()
    }
  }
}

const sendWith = async (pass: QuotaPass, send: () => Promise<CrmCallOutcome>, crmRequest: CrmRequest): Promise<CrmCallOutcome> => {
  try {
    assertWanted(crmRequest)
    return await send()
  } finally {
    pass.leave()
  }
}

const assertWanted = ({signal}: CrmRequest) => {
  if (signal?.aborted) throw callCancelled()
}

/**
 * Returns a new token after the CRM refused the token of a call; the caller resends the call. If the CRM throttles the renewal, returns the refusal
 * as a retryable problem. The CRM names no time to wait, so Lading chooses `retryAfterMs`.
 */
const renewAfterRefusal = async (
  grants: Grants,
  requestContext: RequestContext,
  dead: string,
  refused: CrmProblem,
): Promise<AccessToken | ThrottledRenewal> => {
  try {
    return await grants.replace(requestContext, dead)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'CONNECTION_THROTTLED') throw error
    return {problem: {...refused, retryable: true, rateLimited: true}, retryAfterMs: Number(error.extra.retryAfterMs)}
  }
}

/** Throws CrmError if the read has a problem. */
export const answerOf = (outcome: CrmCallOutcome): CrmResponse => {
  const problem = readProblem(outcome)
  if (problem) throw new CrmError(problem, waitOf(outcome))
  return outcome as CrmResponse
}

/** Returns an empty list for 204 and 304. Throws CrmError if the read has a problem or no list under `key`. */
export const listOf = (outcome: CrmCallOutcome, key: string): unknown[] => {
  const answer = answerOf(outcome)
  const list = listIn(answer, key)
  if (!list) throw new CrmError(unanswered204(answer))
  return list
}
