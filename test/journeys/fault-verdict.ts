import type {Request, Seen} from './fault-doors.ts'
import {type Door, type Expected, type Item, isWrite, type Row, type Said, type Time} from './fault-table.ts'

/** What a row of the table says of one door; undefined where the door is not among its. */
export const expectedOf = (row: Row, door: Door): Expected | undefined => row[door] ?? (isWrite(door) ? row.write : row.read) ?? row.all

/** One of two items at the end: written, refused by the CRM, not heard of, or never sent. Only the last leaves no trace. */
type End = {was: 'done'} | {was: 'refused' | 'unanswered'; code: string | null} | {was: 'unsent'}
type Told = {item: unknown; end: End}
type Verdict = Pick<Seen, 'status' | 'retryAfter' | 'said' | 'items'> & {ends: End[]}

/**
 * All that is to be seen of a request by the papers' rules, given what the CRM said to it. A write nobody answered stays counted and is
 * an open question; one that was declined is given back; what was not sent is in no book. Nothing is left in flight.
 */
export const verdictOf = (row: Row, request: Request, seen: Seen): Omit<Seen, 'answer'> => {
  const expected = expectedOf(row, request.door)!
  const {ends, ...answered} = answerOf(row, request, seen)
  const counted = ends.filter(({was}) => was === 'done' || was === 'unanswered').length
  const made = request.door === 'create' ? 'created' : 'updated'
  const log = ends.flatMap((end, n) => logged(end, request.keys[n]!, made))
  return {
    ...answered,
    ...{calls: row.calls ?? ('refused' in expected ? 0 : 1), log, counts: countsOf(log)},
    books: {
      ...{counted, admissions: counted, sends: 0, questions: ends.filter(({was}) => was === 'unanswered').length},
      released: ends.filter(({was}) => was === 'refused').length,
    },
    stored: request.door === 'byIds' || request.door === 'one' ? null : ends.map(({was}) => was === 'done' || isDoneSilently(was, row)),
    connection: 'refused' in expected && expected.ends ? 'ended' : 'connected',
    // Written down for a 429 alone, whatever else says that nothing is left; and for what was refused because it stands there.
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

const answerOf = (row: Row, {door}: Request, seen: Seen): Verdict => {
  const expected = expectedOf(row, door)!
  if ('refused' in expected) return refusedAt(door, expected, seen)
  if (door === 'rowsRead') return readRowsAt(expected, row, seen)
  if (!isWrite(door)) return readAt(door, expected, seen)
  if ('items' in expected) return apart(expected.items.map((item, n) => tell(item, door, n, seen)))
  const said = fill(expected.relayed, seen, 0)
  const told = [0, 1].map(n => tell({said: expected.relayed}, door, n, seen))
  if (door === 'rows') return apart(told)
  return {...apart(told), ...relay(said)}
}

/** A request of several answers is 200, whatever they are, and asks for no wait of its own. */
const apart = (told: Told[]): Verdict => ({
  ...{status: 200, retryAfter: null, said: null},
  ...{items: told.map(({item}) => item), ends: told.map(({end}) => end)},
})

/** One answer of the CRM is the whole answer: the day's end as 429 without a time, all else as 502 with the CRM's own. */
const relay = (crm: Filled): Pick<Verdict, 'status' | 'retryAfter' | 'said'> => ({
  status: crm.quotaSpent ? 429 : 502,
  retryAfter: crm.quotaSpent || crm.retryAfterMs === null ? null : seconds(crm.retryAfterMs),
  said: {error: true, code: 'CRM_REFUSED', crm},
})

const tell = (item: Item, door: Door, n: number, seen: Seen): Told => {
  if (item === 'done') return {item, end: {was: 'done'}}
  if (item === 'absent') return {item: {error: true, code: 'NOT_FOUND', written: false}, end: {was: 'unsent'}}
  const crm = fill(item.said, seen, n)
  const code = crm.code ?? (crm.unanswered ? null : `HTTP_${crm.status}`)
  const duplicateOf = item.duplicate && door !== 'rows' ? {duplicateOf: duplicateIn(crm.details)} : {}
  return {item: {error: true, code: undefined, crm, ...duplicateOf}, end: {was: crm.unanswered ? 'unanswered' : 'refused', code}}
}

const duplicateIn = (details: any): string => (details.errors?.[0].details ?? details).duplicate_record.id

/** Of rows that could not be read nothing was sent, and the other parent goes on, unless the day is spent, renewals are throttled or it meets the same. */
const readRowsAt = (expected: Exclude<Expected, {refused: string}>, {lasts}: Row, seen: Seen): Verdict => {
  const other = tell('done', 'rows', 1, seen)
  if ('items' in expected) return apart([tell(expected.items[0], 'rows', 0, seen), other])
  const unread = (n: number): Told => {
    const crm = fill(expected.relayed, seen, n)
    return {item: {error: true, code: undefined, written: false, crm}, end: {was: 'unsent'}}
  }
  const {status, code} = expected.relayed
  // The renewal was throttled: the dead token is not sent again.
  if (status === 401 && code === 'TOO_MANY_REQUESTS') return apart([unread(0), unsent('CONNECTION_THROTTLED')])
  if (lasts) return apart([unread(0), unread(1)])
  return apart([unread(0), isSpent(expected) && status === 429 ? unsent('DAILY_ALLOWANCE_SPENT') : other])
}

const unsent = (code: string): Told => ({item: {error: true, code, written: false}, end: {was: 'unsent'}})

const readAt = (door: Door, expected: Exclude<Expected, {refused: string}>, seen: Seen): Verdict => {
  if ('relayed' in expected) return {...relay(fill(expected.relayed, seen, 0)), items: null, ends: []}
  const {items} = expected
  if (door === 'byIds') return {status: 200, retryAfter: null, said: null, items, ends: []}
  if (items[0] === 'done') return {status: 200, retryAfter: null, said: null, items: ['done'], ends: []}
  return {status: 404, retryAfter: null, said: {error: true, code: 'NOT_FOUND'}, items: null, ends: []}
}

/** Before sending: no `crm`, `written: false` on a write. A replacement tells the spent day parent by parent, all else as a whole. */
const refusedAt = (door: Door, {refused: code, retryAfterMs}: Extract<Expected, {refused: string}>, seen: Seen): Verdict => {
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

type Filled = Omit<Said, 'part' | 'retryAfterMs'> & {retryAfterMs: number | null; details: unknown; response: unknown}

/** With the CRM's own JSON, untouched, as the stand-in has it in its journal. */
const fill = ({part, retryAfterMs, ...said}: Said, {answer, said: told, items}: Seen, n: number): Filled => {
  const response = partOf(answer, part, n)
  const given = (told as any)?.crm ?? (items as any)?.[n]?.crm
  return {
    ...said,
    ...{response, details: response?.details ?? null},
    retryAfterMs: retryAfterMs === null ? null : near(retryAfterMs, given?.retryAfterMs),
  }
}

const partOf = (answer: any, part: Said['part'], n: number) => {
  if (part === 'body') return answer
  if (part === 'first') return answer.data[0]
  return part === 'item' ? answer.data[n] : null
}

/** What was seen, where it is as near as it has to be. */
const near = (wanted: Time, given: number): number => {
  if (typeof wanted === 'number') return wanted
  return given > wanted.upTo - 10_000 && given <= wanted.upTo ? given : wanted.upTo
}

const seconds = (ms: number) => String(Math.max(1, Math.ceil(ms / 1000)))
