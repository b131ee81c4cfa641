import type {CrmResponse, NoResponse} from './client.ts'
import type {RecordAnswer} from './crm.ts'
import {asObject, type CrmProblem, codeOf, errorsOf} from './error.ts'

/** The result of a call: an answer, no answer, or a problem that this service describes itself. */
export type CrmCallOutcome = CrmResponse | NoResponse | {problem: CrmProblem} | ThrottledRenewal
/** The CRM throttles the renewal of the access token. The call can be repeated after `retryAfterMs`. */
export type ThrottledRenewal = {problem: CrmProblem; retryAfterMs: number}
/**
 * `ids`: the ids of the records, in the order that the answer must have; not set for creates. `most`: the maximum number of records of the call, by
 * default 100.
 */
export type SentRecords = {count: number; ids?: string[]; most?: number}

/**
 * Returns exactly one result per record, in the order sent. If the answer has another length or order, every record is unanswered. The HTTP status
 * does not show which record failed: 207, and 202 on old versions, may contain refusals only. So `data` is read by index.
 */
export const readWrite = (outcome: CrmCallOutcome, sentRecords: SentRecords): RecordAnswer[] => {
  const whole = wholeProblem(outcome, sentRecords.count)
  if (whole) return Array.from({length: sentRecords.count}, () => ({ok: false, sent: true, crm: whole, duplicateOf: null}))
  const answer = outcome as CrmResponse
  const items = listAt(answer.json, 'data')!
  const known = isInOrder(items, sentRecords) ? items : []
  return Array.from({length: sentRecords.count}, (_, index) => {
    const item = asObject(known[index])
    return item
      ? readRecord(item, answer, sentRecords.ids?.[index])
      : {ok: false, sent: true, crm: unanswered204(answer), duplicateOf: null}
  })
}

/** Returns the problem of a read. Null if the answer is a received file, JSON without a refusal, or a status that means no data (204, 304). */
export const readProblem = (outcome: CrmCallOutcome): CrmProblem | null => {
  if ('problem' in outcome) return outcome.problem
  if ('lost' in outcome) return unanswered({status: outcome.status})
  const {status, json} = outcome
  if (isFailure(status)) return failed(outcome)
  if (status === 204 || status === 304) return null
  if (status >= 400 || isRefusal(json)) return declined(outcome, envelopeOf(json))
  if (status >= 300) return unanswered({status, response: json})
  return json === undefined && !outcome.isReceived ? unanswered({status}) : null
}

/** Whether the answer is a failure, not a refusal. A 408 means that the CRM did not receive the whole request in time. */
const isFailure = (status: number) => status >= 500 || status === 408

/**
 * Returns the wait after a throttled token renewal as a property of the error envelope, outside its `crm` object. An empty object for other outcomes.
 */
export const waitOf = (outcome: CrmCallOutcome): {retryAfterMs?: number} =>
  'problem' in outcome && 'retryAfterMs' in outcome ? {retryAfterMs: outcome.retryAfterMs} : {}

/** Returns an empty list for 204 and 304, and undefined if the answer has no list under `key`. */
export const listIn = ({status, json}: CrmResponse, key: string) => (status === 204 || status === 304 ? [] : listAt(json, key))

/** Returns the problem of an answer whose body lacks the expected result. A write with this answer may have taken effect. */
export const unanswered204 = ({status, json}: CrmResponse) => unanswered({status, response: json})

/**
 * Returns the problem that applies to every record: the call was refused or not answered, or its answer names no record. Null if there is none.
 */
export const wholeProblem = (outcome: CrmCallOutcome, count: number): CrmProblem | null => {
  if ('problem' in outcome) return outcome.problem
  if ('lost' in outcome) return unanswered({status: outcome.status})
  const {status, json} = outcome
  if (isFailure(status)) return failed(outcome)
  if (status >= 300 && status < 400) return unanswered({status, response: json, retryable: false})
  const items = listAt(json, 'data')
  if (status < 300) return items ? null : unanswered204(outcome)
  return items && (items.length === count || items.some(isSuccess)) && status !== 429 && status !== 401
    ? null
    : declined(outcome, envelopeOf(json))
}

const readRecord = (item: Record<string, unknown>, answer: CrmResponse, id: string | undefined): RecordAnswer => {
  if (isSuccess(item)) {
    const made = idIn(item) ?? id
    if (made !== undefined) return {ok: true, recordId: made, modifiedAt: modifiedAtOf(item)}
    const crm = {...unanswered({status: answer.status, response: item}), code: 'SUCCESS', details: item.details ?? null}
    return {ok: false, sent: true, crm, duplicateOf: null}
  }
  if (!isRefusal(item)) return {ok: false, sent: true, crm: unanswered({status: answer.status, response: item}), duplicateOf: null}
  const code = codeOf(item)
  if (failureCodes.includes(code ?? '')) {
    const crm = {...unanswered({status: answer.status, response: item}), code, details: item.details ?? null}
    return {ok: false, sent: true, crm, duplicateOf: null}
  }
  const crm = declined(answer, item)
  return {ok: false, sent: true, crm, duplicateOf: duplicateIn(crm)}
}

/**
 * Codes of a failure within the CRM, so the record may have been written. Source: the vendor's OpenAPI. It lists the last one only as a refusal, but the
 * failed service may have stopped a write half-way; a search for the record is safe in both cases.
 */
const failureCodes = ['INTERNAL_ERROR', 'INTERNAL_SERVER_ERROR', 'DEPENDENT_SERVICE_ERROR']

/** Returns the record that has every duplicate value. Null if the refusals name several records, or if several records have one of the values. */
const duplicateIn = (crm: CrmProblem) => {
  const duplicates = errorsOf(crm).filter(({code}) => code === 'DUPLICATE_DATA')
  const [first, ...others] = new Set(duplicates.map(({recordId}) => recordId))
  return first && others.length === 0 && !duplicates.some(({moreRecords}) => moreRecords) ? first : null
}

/** Returns false if the lengths differ, if two creates name one record, or if an entry names another position or record. */
const isInOrder = (items: unknown[], {count, ids}: SentRecords) =>
  items.length === count &&
  (ids !== undefined || hasDistinctIds(items)) &&
  items.every((item, index) => {
    if (ids && isSuccess(item) && (idIn(item) ?? ids[index]) !== ids[index]) return false
    const place = placeIn(item)
    return place === null || place === index
  })

const hasDistinctIds = (items: unknown[]) => {
  const seen = new Set<string>()
  for (const item of items) {
    const id = isSuccess(item) ? idIn(item) : undefined
    if (id === undefined) continue
    if (seen.has(id)) return false
    seen.add(id)
  }
  return true
}

const placeIn = (item: unknown): number | null => {
  const details = asObject(asObject(item)?.details)
  if (details?.json_path === undefined && details?.errors === undefined) return null
  const paths = [details, ...(listAt(details, 'errors') ?? []).map(error => asObject(asObject(error)?.details))]
  const [, place] = paths.map(at => /^\$\.data\[(\d+)\]/.exec(String(at?.json_path ?? ''))).find(Boolean) ?? []
  return place === undefined ? null : Number(place)
}

const idIn = (item: unknown) => {
  const id = asObject(asObject(item)?.details)?.id
  return typeof id === 'string' && isName(id) ? id : undefined
}

const modifiedAtOf = (item: unknown): string | null => {
  const time = asObject(asObject(item)?.details)?.Modified_Time
  return typeof time === 'string' && !Number.isNaN(Date.parse(time)) ? time : null
}

export const isName = (id: string) => /^[\x21-\x7e]{1,100}$/.test(id)

const isSuccess = (item: unknown) => asObject(item)?.status === 'success' || codeOf(item) === 'SUCCESS'

const isRefusal = (item: unknown) => {
  const code = codeOf(item)
  const status = asObject(item)?.status
  return status === 'error' || (status !== 'success' && code !== null && code !== 'SUCCESS')
}

export const listAt = (json: unknown, key: string) => {
  const list = asObject(json)?.[key]
  return Array.isArray(list) ? (list as unknown[]) : undefined
}

/** Some versions of the CRM wrap a refusal: `{data: [refusal]}` for records, `{modules: [refusal]}` for metadata. */
const envelopeOf = (json: unknown) => {
  const body = asObject(json)
  if (!body || codeOf(body) !== null) return body
  const wrapped = Object.values(body).find(Array.isArray)?.[0]
  return isRefusal(wrapped) ? asObject(wrapped) : body
}

/** The CRM does not mark these errors as retryable, but the same record may succeed later. */
const retryableCodes = ['RECORD_LOCKED', 'NOT_APPROVED']

const declined = ({status, retryAfterMs, creditsRemaining}: CrmResponse, envelope: Record<string, unknown> | null): CrmProblem => {
  const code = codeOf(envelope)
  const rateLimited = status === 429 || code === 'TOO_MANY_REQUESTS' || code === '429'
  const quotaSpent = rateLimited && creditsRemaining !== null && creditsRemaining <= 0
  return {
    code,
    status,
    details: envelope?.details ?? null,
    retryable: rateLimited ? !quotaSpent : retryableCodes.includes(code ?? ''),
    response: envelope,
    unanswered: false,
    rateLimited,
    retryAfterMs: rateLimited ? retryAfterMs : null,
    quotaSpent,
  }
}

const failed = ({status, json, retryAfterMs}: CrmResponse): CrmProblem => {
  const envelope = envelopeOf(json)
  return {...unanswered({status, response: envelope}), code: codeOf(envelope), details: envelope?.details ?? null, retryAfterMs}
}

export const unanswered = ({
  status,
  response = null,
  retryable = true,
}: {
  status: number | null
  response?: unknown
  retryable?: boolean
}): CrmProblem => ({
  code: null,
  status,
  details: null,
  retryable,
  response,
  unanswered: true,
  retryAfterMs: null,
  quotaSpent: false,
})
