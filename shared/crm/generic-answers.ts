import type {CrmResponse} from './client.ts'
import type {CrmRecord, RecordAnswer} from './crm.ts'
import {asObject, CrmError, type CrmProblem, codeOf, errorsOf} from './error.ts'
import {type CrmCallOutcome, isName, listAt, readProblem, type SentRecords, unanswered, unanswered204} from './outcome.ts'

/** The maximum `Retry-After` of a rate limit. If the document has a `renewal`, a longer wait means an exhausted quota. */
const longestSlowdownMs = 60_000

/**
 * Returns a problem that applies to the whole call; null if the answer has a list under `key`, or is a 204 to a read. `renews`: the document states
 * when the quota renews, so a 429 without a short Retry-After means an exhausted quota.
 */
export const problemOf = (outcome: CrmCallOutcome, {key, renews}: {key: string; renews: boolean}): CrmProblem | null => {
  if (!('json' in outcome)) return readProblem(outcome)
  const {status, json} = outcome
  const list = listAt(json, key)
  if (list && (status < 300 || (status < 500 && status !== 429 && list.length > 0))) return null
  const problem =
    problemOfWrite(outcome, key) ??
    readProblem({...outcome, json: asObject(asObject(json)?.error) ?? json}) ??
    (status === 204 && key === READ_RESULTS ? null : unanswered204(outcome))
  const spent = problem?.rateLimited && renews && (problem.retryAfterMs === null || problem.retryAfterMs > longestSlowdownMs)
  return problem && {...problem, quotaSpent: spent === true, retryable: problem.retryable && !spent}
}

/** Returns the problem of a write with a 2xx or 3xx, which may have taken effect whatever its body says. Null for reads and other statuses. */
const problemOfWrite = (answer: CrmResponse, key: string): CrmProblem | null => {
  const {status, json} = answer
  if (key !== WRITE_RESULTS || status >= 400) return null
  return status >= 300 ? unanswered({status, response: json, retryable: false}) : unanswered204(answer)
}

export const READ_RESULTS = 'records'
export const WRITE_RESULTS = 'results'

/**
 * Copies the id of each record to `id`. Throws if a record has no usable id: without it, an existing record would count as absent, and an import
 * would create it again.
 */
export const recordsIn = (answer: CrmResponse, idField: string): CrmRecord[] =>
  (listAt(answer.json, READ_RESULTS) ?? []).map(item => {
    const record = asObject(item)
    const id = record && idIn(record[idField])
    if (!id) throw new CrmError(declined(answer, {code: 'ID_UNUSABLE', message: `A record has no usable id in "${idField}"`}))
    return {...record, id}
  })

/**
 * Returns exactly one result per record, in the order sent. If the answer has too many results, or names another record at any position, every record
 * is unanswered.
 */
export const readResults = (answer: CrmResponse, {count, ids}: SentRecords): RecordAnswer[] => {
  const list = listAt(answer.json, WRITE_RESULTS) ?? []
  const isInOrder = list.length <= count && list.every((item, at) => !ids || !isMade(item) || idIn(asObject(item)!.id) === ids[at])
  return Array.from({length: count}, (_, at) => readResult(isInOrder ? asObject(list[at]) : null, answer))
}

const readResult = (item: Record<string, unknown> | null, answer: CrmResponse): RecordAnswer => {
  const recordId = isMade(item) ? idIn(item!.id) : null
  if (recordId) return {ok: true, recordId}
  const error = asObject(item?.error)
  const crm = error ? declined(answer, error) : unanswered204(answer)
  return {ok: false, sent: true, crm, duplicateOf: error ? duplicateIn(crm) : null}
}

const declined = ({status}: CrmResponse, error: Record<string, unknown>): CrmProblem => ({
  code: codeOf(error),
  status,
  details: error.details ?? null,
  retryable: false,
  response: error,
  unanswered: false,
  retryAfterMs: null,
  quotaSpent: false,
})

/** Returns the id of the record that already has a unique value, if a `DUPLICATE_DATA` refusal names one. */
const duplicateIn = (crm: CrmProblem) => (crm.code === 'DUPLICATE_DATA' ? errorsOf(crm)[0]!.recordId : null)

const isMade = (item: unknown) => asObject(item)?.id != null && asObject(item)?.error == null
const idIn = (id: unknown): string | null => ((typeof id === 'string' && isGenericId(id)) || Number.isSafeInteger(id) ? String(id) : null)

/** Whether a text can be an id: printable ASCII without a comma, because reads name ids as `ids=a,b`. */
export const isGenericId = (text: string): boolean => isName(text) && !text.includes(',')
