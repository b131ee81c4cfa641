/** The specification's `crm` object. `details` and `response` are the CRM's own JSON, untouched; null when it sent none. */
export type CrmProblem = {
  code: string | null
  status: number | null
  details: unknown
  retryable: boolean
  response: unknown
  /** The CRM gave no answer saying what was done: it may have been done. False: it declined, and nothing was. */
  unanswered: boolean
  rateLimited?: boolean
  retryAfterMs: number | null
  quotaSpent: boolean
}

/** What the CRM refused or failed to say, on a read. A write answers it per record instead. `extra` is added to the envelope. */
export class CrmError extends Error {
  override name = 'CrmError'
  readonly crm: CrmProblem
  /** The destination names the moment its allowance is there again: `crm.retryAfterMs` leads up to it. */
  readonly renews: boolean
  readonly extra: Record<string, unknown>

  constructor(crm: CrmProblem, {renews = false, ...extra}: {renews?: boolean; [extra: string]: unknown} = {}) {
    super(sayProblem(crm))
    this.crm = crm
    this.renews = renews
    this.extra = extra
  }
}

/** Too many calls at once. A renewal that is throttled asks for patience too, and fewer calls would not help it. */
export const isCrowded = ({status, rateLimited, quotaSpent}: CrmProblem) => status === 429 && rateLimited === true && !quotaSpent

/** The CRM still refuses the access token after its renewal. A missing scope is no such refusal: a new token does not help. */
export const isTokenRefused = ({status, code}: CrmProblem) => status === 401 && code !== 'OAUTH_SCOPE_MISMATCH'

/** One plain sentence about a problem, with the CRM's own words where it sent some. */
export const sayProblem = (crm: CrmProblem) => {
  const {code, status, unanswered, rateLimited, quotaSpent} = crm
  const message = messageOf(crm)
  if (quotaSpent) return 'The CRM has no API credits left for the last 24 hours'
  if (rateLimited) return 'The CRM asks to slow down'
  if (unanswered && status === null) return 'The CRM did not answer'
  if (unanswered) return `The CRM answered ${status} without saying what was done`
  if (status === 413) return 'The request is too large for the CRM. Shorten its values, or send fewer records at once'
  return [`The CRM declined${code ? ` with ${code}` : ''}`, message].filter(Boolean).join(': ')
}

/** The CRM's own words for people; never a contract. */
const messageOf = ({response}: CrmProblem): string | null => {
  const message = asObject(response)?.message
  return typeof message === 'string' ? message : null
}

/** Each refusal of a record on its own: those nested in MULTIPLE_OR_MULTI_ERRORS, or the one there is. */
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
      recordId: typeof recordId === 'string' ? recordId : null,
      moreRecords: more_records === true,
    },
  ]
}

/** Older shapes carry a number as the code, or the code under `error`. */
export const codeOf = (json: unknown): string | null => {
  const {code, error} = asObject(json) ?? {}
  if (typeof code === 'string' && code !== '') return code
  if (typeof code === 'number') return typeof error === 'string' ? error : String(code)
  return null
}

export const asObject = (json: unknown): Record<string, unknown> | null =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Record<string, unknown>) : null
