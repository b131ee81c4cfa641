import type {Request, SeenAnswer} from './fault-operations.ts'
import {type Door, type Expected, type Item, isWrite, type NoAnswerFault, type Row, type Time} from './fault-table.ts'

/** Returns the expected result of a row at a door, or undefined if the row does not cover the door. */
export const expectedOf = (row: Row, door: Door): Expected | undefined => row[door] ?? (isWrite(door) ? row.write : row.read) ?? row.all

/** Final state of one of two items: written, refused by the CRM, unanswered, or never sent. An item that was never sent leaves no trace. */
type End = {was: 'done'} | {was: 'refused' | 'unanswered'; code: string | null} | {was: 'unsent'}
type ReportedFault = {item: unknown; end: End}
type Verdict = Pick<SeenAnswer, 'status' | 'retryAfter' | 'said' | 'items'> & {ends: End[]}

/**
 * Returns the expected result of a request, given the CRM's answer. An unanswered write stays counted with an open question, a refused one is
 * released, and one that was not sent is recorded nowhere. Nothing stays in flight.
 */
export const verdictOf = (row: Row, request: Request, seen: SeenAnswer): Omit<SeenAnswer, 'answer'> => {
  const expected = expectedOf(row, request.door)!
  const {ends, ...answered} = answerOf(row, request, seen)
  const counted = ends.filter(({was}) => was === 'done' || was === 'unanswered').length
  const made = request.door === 'create' ? 'created' : 'updated'
  const log = ends.flatMap((end, n) => logged(end, request.keys[n]!, made))
  return {
    ...answered,
    calls: row.calls ?? ('refused' in expected ? 0 : 1),
    log,
    counts: countsOf(log),
    books: {
      counted,
      admissions: counted,
      sends: 0,
      questions: ends.filter(({was}) => was === 'unanswered').length,
      released: ends.filter(({was}) => was === 'refused').length,
    },
    stored: request.door === 'byIds' || request.door === 'one' ? null : ends.map(({was}) => was === 'done' || isDoneSilently(was, row)),
    connection: 'refused' in expected && expected.ends ? 'ended' : 'connected',
    // The quota is recorded as exhausted by a 429, and before a request that is refused for it. A 400 does not record it.
    spent: row.spent ?? (isSpent(expected) && !('relayed' in expected && expected.relayed.status !== 429)),
    stoppedBy: request.door === 'byIds' && isSpent(expected) ? 'allowance' : null,
  }
}

const isDoneSilently = (was: End['was'], {does}: Row) => was === 'unanswered' && does === true

const isSpent = (expected: Expected) =>
  ('relayed' in expected && expected.relayed.quotaSpent) || ('refused' in expected && expected.refused === 'DAILY_ALLOWANCE_SPENT')

const logged = (end: End, key: string, made: string): unknown[][] => {
  if (end.was === 'unsent') return []
  return [end.was === 'done' ? [key, 1, made, null] : [key, 1, end.was, end.code]]
}

const countsOf = (log: unknown[][]) => {
  const counts: Record<string, number> = {}
  for (const [, , outcome] of log) counts[String(outcome)] = (counts[String(outcome)] ?? 0) + 1
  return counts
}

const answerOf = (row: Row, {door}: Request, seen: SeenAnswer): Verdict => {
  const expected = expectedOf(row, door)!
  if ('refused' in expected) return refusedAt(door, expected, seen)
  if (door === 'rowsRead') return readRowsAt(expected, row, seen)
  if (!isWrite(door)) return readAt(door, expected, seen)
  if ('items' in expected) return apart(expected.items.map((item, n) => tell(item, door, n, seen)))
  const said = fill(expected.relayed, seen, 0)
  const told = [0, 1].map(n => tell({said: expected.relayed}, door, n, seen))
  if (door === 'rows') return apart(told)
  return {...apart(told), ...relay(said, expected, seen)}
}

/** Returns the answer to a request with a result for each item: 200 without Retry-After. */
const apart = (told: ReportedFault[]): Verdict => ({
  status: 200,
  retryAfter: null,
  said: null,
  items: told.map(({item}) => item),
  ends: told.map(({end}) => end),
})

type Relayed = Extract<Expected, {relayed: NoAnswerFault}>

/**
 * Returns Lading's answer to one refusal of the whole call: 429 without a time for an exhausted quota, 409 for a missing scope, otherwise 502
 * with the CRM's wait or Lading's.
 */
const relay = (crm: Filled, {waits}: Relayed, seen: SeenAnswer): Pick<Verdict, 'status' | 'retryAfter' | 'said'> => {
  const waitMs = waits === undefined ? crm.retryAfterMs : near(waits, Number(seen.retryAfter) * 1000)
  return {
    status: crm.quotaSpent ? 429 : isScope(crm) ? 409 : 502,
    retryAfter: crm.quotaSpent || waitMs === null ? null : seconds(waitMs),
    said: {error: true, code: isScope(crm) ? 'SCOPE_MISSING' : 'CRM_REFUSED', crm},
  }
}

const isScope = ({code}: Filled) => code === 'OAUTH_SCOPE_MISMATCH'

const tell = (item: Item, door: Door, n: number, seen: SeenAnswer): ReportedFault => {
  if (item === 'done') return {item, end: {was: 'done'}}
  if (item === 'absent') return {item: {error: true, code: 'NOT_FOUND', written: false}, end: {was: 'unsent'}}
  const crm = fill(item.said, seen, n)
  const code = crm.code ?? (crm.unanswered ? null : `HTTP_${crm.status}`)
  const duplicateOf = item.duplicate && door !== 'rows' ? {duplicateOf: duplicateIn(crm.details)} : {}
  return {item: {error: true, code: undefined, crm, ...duplicateOf}, end: {was: crm.unanswered ? 'unanswered' : 'refused', code}}
}

const duplicateIn = (details: any): string => (details.errors?.[0].details ?? details).duplicate_record.id

/**
 * Returns the expected result if the rows of the first parent could not be read. Nothing is sent for that parent. The other parent is written
 * unless the quota is exhausted, renewals are throttled, or its read meets the same fault.
 */
const readRowsAt = (expected: Exclude<Expected, {refused: string}>, {lasts}: Row, seen: SeenAnswer): Verdict => {
  const other = tell('done', 'rows', 1, seen)
  if ('items' in expected) return apart([tell(expected.items[0], 'rows', 0, seen), other])
  const unread = (n: number): ReportedFault => {
    const crm = fill(expected.relayed, seen, n)
    return {item: {error: true, code: undefined, written: false, crm}, end: {was: 'unsent'}}
  }
  const {status, rateLimited} = expected.relayed
  // The renewal is throttled, so Lading does not send the expired token for the other parent.
  if (status === 401 && rateLimited) return apart([unread(0), unsent('CONNECTION_THROTTLED')])
  if (lasts) return apart([unread(0), unread(1)])
  return apart([unread(0), isSpent(expected) && status === 429 ? unsent('DAILY_ALLOWANCE_SPENT') : other])
}

const unsent = (code: string): ReportedFault => ({item: {error: true, code, written: false}, end: {was: 'unsent'}})

const readAt = (door: Door, expected: Exclude<Expected, {refused: string}>, seen: SeenAnswer): Verdict => {
  if ('relayed' in expected) return {...relay(fill(expected.relayed, seen, 0), expected, seen), items: null, ends: []}
  const {items} = expected
  if (door === 'byIds') return {status: 200, retryAfter: null, said: null, items, ends: []}
  if (items[0] === 'done') return {status: 200, retryAfter: null, said: null, items: ['done'], ends: []}
  return {status: 404, retryAfter: null, said: {error: true, code: 'NOT_FOUND'}, items: null, ends: []}
}

/**
 * Returns the expected refusal before sending: without `crm`, and for writes with `written: false`. A replacement reports an exhausted quota for
 * each parent, and every other refusal once.
 */
const refusedAt = (door: Door, {refused: code, retryAfterMs}: Extract<Expected, {refused: string}>, seen: SeenAnswer): Verdict => {
  const both = [unsent(code), unsent(code)]
  const isRows = door === 'rows' || door === 'rowsRead'
  if (isRows && code === 'DAILY_ALLOWANCE_SPENT') return apart(both)
  const written = isWrite(door) || isRows ? {written: false} : {}
  return {
    status: code === 'CONNECTION_UNAVAILABLE' ? 502 : 429,
    retryAfter: retryAfterMs === undefined ? null : seconds(near(retryAfterMs, Number(seen.retryAfter) * 1000)),
    said: {error: true, code, ...written},
    items: isWrite(door) && !isRows ? both.map(({item}) => item) : null,
    ends: isWrite(door) || isRows ? both.map(({end}) => end) : [],
  }
}

type Filled = Omit<NoAnswerFault, 'part' | 'retryAfterMs'> & {retryAfterMs: number | null; details: unknown; response: unknown}

/** Adds the CRM's own JSON from the stand-in's journal to the expected error object. */
const fill = ({part, retryAfterMs, ...said}: NoAnswerFault, {answer, said: told, items}: SeenAnswer, n: number): Filled => {
  const response = partOf(answer, part, n)
  const given = (told as any)?.crm ?? (items as any)?.[n]?.crm
  return {
    ...said,
    response,
    details: response?.details ?? null,
    retryAfterMs: retryAfterMs === null ? null : near(retryAfterMs, given?.retryAfterMs),
  }
}

const partOf = (answer: any, part: NoAnswerFault['part'], n: number) => {
  if (part === 'body') return answer
  if (part === 'first') return answer.data[0]
  return part === 'item' ? answer.data[n] : null
}

/** Returns the observed time if it is at most ten seconds below `upTo`, otherwise the expected one. A fixed time is returned as it is. */
const near = (wanted: Time, given: number): number => {
  if (typeof wanted === 'number') return wanted
  return given > wanted.upTo - 10_000 && given <= wanted.upTo ? given : wanted.upTo
}

const seconds = (ms: number) => String(Math.max(1, Math.ceil(ms / 1000)))
