import {Refusal} from '../errors.ts'

/** A problem with a CRM call, which our API returns as `crm`. `details` and `response` are the CRM's JSON, unchanged; null if it sent none. */
export type CrmProblem = {
  code: string | null
  status: number | null
  details: unknown
  retryable: boolean
  response: unknown
  /** True if the CRM did not report the result, so that the call may have taken effect. False if the CRM refused and did nothing. */
  unanswered: boolean
  rateLimited?: boolean
  retryAfterMs: number | null
  quotaSpent: boolean
}

export const noAnswer: CrmProblem = {
  code: null,
  status: null,
  details: null,
  retryable: true,
  response: null,
  unanswered: true,
  retryAfterMs: null,
  quotaSpent: false,
}

/**
 * The error of a call that the CRM refused or did not answer. A read throws a CrmError; a write returns one as `whole`, besides the problems per
 * record. `extra` is added to the error envelope.
 */
export class CrmError extends Error {
  override name = 'CrmError'
  readonly crm: CrmProblem
  /** True if the destination's daily quota renews at a fixed time. `crm.retryAfterMs` is then the wait until that time. */
  readonly renews: boolean
  readonly extra: Record<string, unknown>

  constructor(crm: CrmProblem, {renews = false, message, ...extra}: {renews?: boolean; message?: string; [extra: string]: unknown} = {}) {
    super(message ?? (renews ? quotaUntilRenewal : describeProblem(crm)))
    this.crm = crm
    this.renews = renews
    this.extra = extra
  }
}

/** The message about an exhausted quota that renews at a fixed time. */
export const quotaUntilRenewal = 'The daily quota of this destination is exhausted. Try again after it renews'

/** A missing scope becomes SCOPE_MISSING, because a new consent adds it. Every other error becomes CRM_REFUSED. */
export const refusalOf = ({message, crm, extra}: CrmError): Refusal => {
  if (crm.code !== 'OAUTH_SCOPE_MISMATCH') return new Refusal('CRM_REFUSED', message, {crm, ...extra})
  const says = 'The connection lacks a permission scope of the CRM. Connect the CRM again and accept every scope'
  return new Refusal('SCOPE_MISSING', says, {crm, ...extra})
}

/**
 * Returns whether the CRM refused because of too many concurrent calls. Returns false for a throttled token renewal, because fewer calls would not
 * help.
 */
export const isCrowded = ({status, rateLimited, quotaSpent}: CrmProblem) => status === 429 && rateLimited === true && !quotaSpent

/**
 * Returns whether the CRM refused the access token, and a renewal did not help or was throttled. Returns false for a missing scope, because a new
 * token would lack it too.
 */
export const isTokenRefused = ({status, code}: CrmProblem) => status === 401 && code !== 'OAUTH_SCOPE_MISMATCH'

/**
 * Returns whether the profile lacks "Zoho CRM API Access", so that the CRM refuses every call. Source: zoho/crm-oas of 2026,
 * v8.0/assignment_rules.json, schema ErrorResponseNoPermissionToAccessAPI.
 */
export const lacksApiAccess = ({status, code, details}: Pick<CrmProblem, 'status' | 'code' | 'details'>): boolean => {
  const permissions = asObject(details)?.permissions
  return status === 403 && code === 'NO_PERMISSION' && Array.isArray(permissions) && permissions.includes('Crm_Implied_Api_Access')
}

export const apiAccessRemedy =
  'In the CRM, open Setup, Security Control, Profiles, choose the profile of this user and switch on "Zoho CRM API Access"'

export const isRefusedForGood = (error: unknown): error is CrmError =>
  error instanceof CrmError && !error.crm.retryable && !error.crm.rateLimited && !error.crm.quotaSpent && !isTokenRefused(error.crm)

export const describeProblem = (crm: CrmProblem) => {
  const {code, status, unanswered, rateLimited, quotaSpent} = crm
  const message = messageOf(crm)
  if (lacksApiAccess(crm)) return `The profile of the connection's CRM user has no API access. ${apiAccessRemedy}`
  if (quotaSpent) return 'The CRM org has used all its API credits of the last 24 hours. Try again later'
  if (rateLimited && status === 401)
    return 'The CRM refused the access token of this connection. The token was renewed too often to be renewed now. Try again later'
  if (rateLimited) return 'The CRM limits the rate of calls. Try again later'
  if (unanswered && status === null) return 'The CRM did not answer'
  if (unanswered) return `The CRM answered ${status} without a usable result`
  if (status === 413) return 'The request is too large for the CRM. Shorten its values, or send fewer records at once'
  return [`The CRM declined${code ? ` with ${code}` : ''}`, message].filter(Boolean).join(': ')
}

/** The CRM may change the wording of its messages at any time. */
const messageOf = ({response}: CrmProblem): string | null => {
  const message = asObject(response)?.message
  return typeof message === 'string' ? message : null
}

/** One refusal of a record. MULTIPLE_OR_MULTI_ERRORS nests several refusals. */
type RecordError = {code: string | null; field: string | null; recordId: string | null; moreRecords: boolean}

export const errorsOf = ({code, details}: Pick<CrmProblem, 'code' | 'details'>): RecordError[] => {
  const nested = asObject(details)?.errors
  if (code === 'MULTIPLE_OR_MULTI_ERRORS' && Array.isArray(nested)) {
    return nested.flatMap(error => errorsOf({code: codeOf(error), details: asObject(error)?.details}))
  }
  const {api_name, id, duplicate_record, more_records} = asObject(details) ?? {}
  const recordId = asObject(duplicate_record)?.id ?? id
  return [
    {
      code,
      field: typeof api_name === 'string' ? api_name : null,
      recordId: typeof recordId === 'string' || Number.isSafeInteger(recordId) ? String(recordId) : null,
      moreRecords: more_records === true,
    },
  ]
}

/** Returns the id of the record that already has the value of this unique field. Null if the refusal names no such record. */
export const findDuplicateOf = (crm: Pick<CrmProblem, 'code' | 'details'>, field: string): string | null =>
  errorsOf(crm).find(error => error.code === 'DUPLICATE_DATA' && error.field === field)?.recordId ?? null

/** Returns an error code, or null. In older answers, `code` is a number and `error` may have the code as text. */
export const codeOf = (json: unknown): string | null => {
  const {code, error} = asObject(json) ?? {}
  if (typeof code === 'string' && code !== '') return code
  if (typeof code === 'number') return typeof error === 'string' ? error : String(code)
  return null
}

export const asObject = (json: unknown): Record<string, unknown> | null =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Record<string, unknown>) : null

/** One ALREADY_MODIFIED may refuse a whole batch. */
export const isModified = ({code}: Pick<CrmProblem, 'code'>): boolean => code === 'ALREADY_MODIFIED'
