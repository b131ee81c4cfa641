import type {Answer, Silence} from './client.ts'
import type {RecordAnswer} from './crm.ts'
import {asObject, type CrmProblem, codeOf, errorsOf} from './error.ts'

/** What became of a call: an answer, none, or a refusal that our own side knows more about than the CRM said. */
export type Outcome = Answer | Silence | {problem: CrmProblem}
/** `ids`: those of an update, whose answers must name them in the same order. */
export type Sent = {count: number; ids?: string[]}

/**
 * Which records an answer speaks of, and how: exactly one result per record, in the order sent. An answer of another length is unanswered whole. The status never tells
 * which record failed (207, and 202 on old versions, may hold refusals only), so `data` is walked by index.
 */
export const readWrite = (outcome: Outcome, sent: Sent): RecordAnswer[] => {
  const whole = wholeProblem(outcome, sent.count)
  if (whole) return Array.from({length: sent.count}, () => ({ok: false, sent: true, crm: whole, duplicateOf: null}))
  const answer = outcome as Answer
  const items = listAt(answer.json, 'data')!
  const known = isInOrder(items, sent) ? items : []
  return Array.from({length: sent.count}, (_, index) => {
    const item = asObject(known[index])
    return item ? readRecord(item, answer, sent.ids?.[index]) : {ok: false, sent: true, crm: silentOn(answer), duplicateOf: null}
  })
}

/** Null when the answer holds what was asked for, or says that there is nothing (204, 304). */
export const readProblem = (outcome: Outcome): CrmProblem | null => {
  if ('problem' in outcome) return outcome.problem
  if ('lost' in outcome) return unanswered({status: outcome.status})
  const {status, json} = outcome
  if (status >= 500) return failed(outcome)
  if (status === 204 || status === 304) return null
  if (status >= 400 || isRefusal(json)) return declined(outcome, envelopeOf(json))
  if (status >= 300) return unanswered({status, response: json, retryable: false})
  return json === undefined ? unanswered({status}) : null
}

/** The list a metadata or record answer holds under `key`; empty where the CRM says so with 204; undefined where it holds none. */
export const listIn = ({status, json}: Answer, key: string) => (status === 204 || status === 304 ? [] : listAt(json, key))

/** An answer of the right status and the wrong shape. */
export const silentOn = ({status, json}: Answer) => unanswered({status, response: json})

/** One problem that is every record's: the call was refused, or its answer says nothing of any of them. */
export const wholeProblem = (outcome: Outcome, count: number): CrmProblem | null => {
  if ('problem' in outcome) return outcome.problem
  if ('lost' in outcome) return unanswered({status: outcome.status})
  const {status, json} = outcome
  if (status >= 500) return failed(outcome)
  if (status >= 300 && status < 400) return unanswered({status, response: json, retryable: false})
  const items = listAt(json, 'data')
  if (status < 300) return items ? null : silentOn(outcome)
  return items && (items.length === count || items.some(isSuccess)) && status !== 429 && status !== 401
    ? null
    : declined(outcome, envelopeOf(json))
}

const readRecord = (item: Record<string, unknown>, answer: Answer, id: string | undefined): RecordAnswer => {
  if (isSuccess(item)) {
    const made = idIn(item) ?? id
    if (made !== undefined) return {ok: true, recordId: made}
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

/** The CRM failed while it executed the record, so it may have been done. Source: the vendor's OpenAPI lists them as answers of 500. */
const failureCodes = ['INTERNAL_ERROR', 'INTERNAL_SERVER_ERROR', 'DEPENDENT_SERVICE_ERROR']

/** The one record that holds every value refused as a duplicate. None when two are named, or when more hold one of them. */
const duplicateIn = (crm: CrmProblem) => {
  const duplicates = errorsOf(crm).filter(({code}) => code === 'DUPLICATE_DATA')
  const [first, ...others] = new Set(duplicates.map(({recordId}) => recordId))
  return first && others.length === 0 && !duplicates.some(({moreRecords}) => moreRecords) ? first : null
}

/**
 * False when the answer has another length than the request, or something in it names another place or record than the one it stands at, or two
 * successes name one record: then no entry can be trusted.
 */
const isInOrder = (items: unknown[], {count, ids}: Sent) =>
  items.length === count &&
  (ids !== undefined || isDistinct(items.flatMap(item => (isSuccess(item) ? (idIn(item) ?? []) : [])))) &&
  items.every((item, index) => {
    if (ids && isSuccess(item) && (idIn(item) ?? ids[index]) !== ids[index]) return false
    const place = placeIn(item)
    return place === null || place === index
  })

const isDistinct = (ids: string[]) => new Set(ids).size === ids.length

const placeIn = (item: unknown): number | null => {
  const details = asObject(asObject(item)?.details)
  const paths = [details, ...(listAt(details, 'errors') ?? []).map(error => asObject(asObject(error)?.details))]
  const [, place] = paths.map(at => /^\$\.data\[(\d+)\]/.exec(String(at?.json_path ?? ''))).find(Boolean) ?? []
  return place === undefined ? null : Number(place)
}

const idIn = (item: unknown) => {
  const id = asObject(asObject(item)?.details)?.id
  return typeof id === 'string' && isName(id) ? id : undefined
}

/** What can be a record's id at all, and kept as one. */
export const isName = (id: string) => /^[\x21-\x7e]{1,100}$/.test(id)

const isSuccess = (item: unknown) => asObject(item)?.status === 'success' || codeOf(item) === 'SUCCESS'

const isRefusal = (item: unknown) => {
  const code = codeOf(item)
  return asObject(item)?.status === 'error' || (code !== null && code !== 'SUCCESS')
}

export const listAt = (json: unknown, key: string) => {
  const list = asObject(json)?.[key]
  return Array.isArray(list) ? (list as unknown[]) : undefined
}

/** The refusal itself, which some versions wrap: `{data: [refusal]}` for records, `{modules: [refusal]}` for metadata. */
const envelopeOf = (json: unknown) => {
  const body = asObject(json)
  if (!body || codeOf(body) !== null) return body
  const wrapped = Object.values(body).find(Array.isArray)?.[0]
  return isRefusal(wrapped) ? asObject(wrapped) : body
}

/** Ours, for want of the CRM's word on it: the record is as sound later as it is now. */
const retryableCodes = ['RECORD_LOCKED', 'NOT_APPROVED']

const declined = ({status, retryAfterMs, creditsRemaining}: Answer, envelope: Record<string, unknown> | null): CrmProblem => {
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

const failed = ({status, json, retryAfterMs}: Answer): CrmProblem => {
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
