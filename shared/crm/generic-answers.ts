import type {Answer} from './client.ts'
import type {CrmRecord, RecordAnswer} from './crm.ts'
import {asObject, type CrmProblem, codeOf, errorsOf} from './error.ts'
import {isName, listAt, type Outcome, readProblem, type Sent, silentOn} from './outcome.ts'

/** A longer wait than this is no asking to slow down, where the destination has an allowance that is renewed at a named moment. */
const longestSlowdownMs = 60_000

/**
 * What of a call is everybody's, in the terms of the port; null where the answer lists what was asked for. `renews`: the destination
 * names when its allowance is there again, so that a 429 without a short Retry-After says that it is used up.
 */
export const problemOf = (outcome: Outcome, {key, renews}: {key: string; renews: boolean}): CrmProblem | null => {
  if (!('json' in outcome)) return readProblem(outcome)
  const {status, json} = outcome
  const list = listAt(json, key)
  if (list && (status < 300 || (status < 500 && status !== 429 && list.length > 0))) return null
  const problem =
    readProblem({...outcome, json: asObject(asObject(json)?.error) ?? json}) ?? (status === 204 && key === READ ? null : silentOn(outcome))
  const spent = problem?.rateLimited && renews && (problem.retryAfterMs === null || problem.retryAfterMs > longestSlowdownMs)
  return problem && {...problem, quotaSpent: spent === true, retryable: problem.retryable && !spent}
}

export const READ = 'records'
export const WRITTEN = 'results'

/** The records a read answered, called by their ids. One without an id cannot be told from another, and is none. */
export const recordsIn = ({json}: Answer, idField: string): CrmRecord[] =>
  (listAt(json, READ) ?? []).flatMap(item => {
    const record = asObject(item)
    const id = record && idIn(record[idField])
    return id ? [{...record, id}] : []
  })

/** Exactly one result for each record, in the order sent. An answer that names another record than the one at its place speaks of none. */
export const readResults = (answer: Answer, {count, ids}: Sent): RecordAnswer[] => {
  const list = listAt(answer.json, WRITTEN) ?? []
  const isInOrder = list.length <= count && list.every((item, at) => !ids || !isMade(item) || idIn(asObject(item)!.id) === ids[at])
  return Array.from({length: count}, (_, at) => readResult(isInOrder ? asObject(list[at]) : null, answer))
}

const readResult = (item: Record<string, unknown> | null, answer: Answer): RecordAnswer => {
  const recordId = isMade(item) ? idIn(item!.id) : null
  if (recordId) return {ok: true, recordId}
  const error = asObject(item?.error)
  const crm = error ? declined(answer, error) : silentOn(answer)
  return {ok: false, sent: true, crm, duplicateOf: error ? duplicateIn(crm) : null}
}

const declined = ({status}: Answer, error: Record<string, unknown>): CrmProblem => ({
  ...{code: codeOf(error), status, details: error.details ?? null, retryable: false, response: error},
  ...{unanswered: false, retryAfterMs: null, quotaSpent: false},
})

/** Where a destination says `DUPLICATE_DATA` as this port does, its `details.id` is the record that holds the value. */
const duplicateIn = (crm: CrmProblem) => (crm.code === 'DUPLICATE_DATA' ? errorsOf(crm)[0]!.recordId : null)

const isMade = (item: unknown) => asObject(item)?.id !== undefined && asObject(item)?.error === undefined
const idIn = (id: unknown): string | null => ((typeof id === 'string' && isName(id)) || Number.isSafeInteger(id) ? String(id) : null)
