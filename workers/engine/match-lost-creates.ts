import type {CrmRecord} from '../../shared/crm/crm.ts'
import {isWithin, type Window} from './candidates.ts'
import {comparedOf, type Field, isEqual, isNear} from './equal.ts'
import type {Row} from './row.ts'

/**
 * A record that a lost create may have made. `holder`: `made` if a row of any run at the CRM org made it or took it over, `met` if a row of the
 * chain only matched or updated it. `madeAtMs`: by this process's clock.
 */
export type Candidate = {record: CrmRecord; madeAtMs: number; holder: 'made' | 'met' | null}

/**
 * Rows that sent the same payload in unanswered creates. `keys`: all such rows, in file order. `creates`: unanswered creates by row key. `rows`:
 * the rows to match now. `under`: when the CRM may have executed the first of these creates, and the last.
 */
export type Group = {keys: string[]; creates: ReadonlyMap<string, number>; rows: Row[]; under: Window}

export type RowMatch =
  /** The record is the row's. `others`: equal records that further creates of the row may have made. */
  | {is: 'equal'; recordId: string; others: string[]}
  /** Whether a record is the row's cannot be determined. */
  | {is: 'unclear'; message: string}
  /** There is no record that could be the row's. */
  | {is: 'none'}

type MatchInput = {fields: readonly Field[]; telling: readonly (string | null | undefined)[]; groups: Group[]; candidates: Candidate[]}

/**
 * Assigns records to rows whose creates went unanswered. Each equal record accounts for one create. The oldest records go first, one to a row; the
 * rest go to rows that were sent several times. If records outnumber creates, every row of the group is unclear. A record of another row is never
 * assigned.
 */
export const matchLostCreates = ({fields, telling, groups, candidates}: MatchInput): Map<Row, RowMatch> => {
  const matches = new Map<Row, RowMatch>()
  const free = candidates.filter(({holder}) => holder !== 'made').sort(byAge)
  const given = new Set<Candidate>()
  const left: {row: Row; under: Window}[] = []
  for (const group of groups.toSorted((one, other) => sizeOf(fields, other) - sizeOf(fields, one))) {
    const {keys, creates, rows, under} = group
    const isLike = (candidate: Candidate) =>
      !given.has(candidate) && isWithin(under, candidate.madeAtMs) && isEqual(fields, rows[0]!.payload, candidate.record)
    const equal = free.filter(candidate => candidate.holder === null && isLike(candidate))
    const lost = keys.reduce((sum, key) => sum + (creates.get(key) ?? 1), 0)
    const isClear = equal.length <= lost
    // If it is unclear whose they are, any of them may be another group's.
    if (isClear) for (const candidate of equal) given.add(candidate)
    const recordsOf = isClear ? shareOut(group, equal) : null
    for (const row of rows) {
      const [first, ...others] = recordsOf?.get(row.key) ?? []
      if (!recordsOf) matches.set(row, {is: 'unclear', message: sayMany(equal.length, lost)})
      else if (first) matches.set(row, {is: 'equal', recordId: first, others})
      else left.push({row, under})
    }
  }
  for (const {row, under} of left) {
    const isLike = ({record, madeAtMs}: Candidate) => isWithin(under, madeAtMs) && isNear(fields, row.payload, record, telling)
    const near = free.filter(candidate => !given.has(candidate) && isLike(candidate))
    matches.set(row, near.length ? {is: 'unclear', message: sayNear(near)} : {is: 'none'})
  }
  return matches
}

/** Record ids by row key: one for each row first, then one for each further create. */
const shareOut = ({keys, creates}: Group, records: Candidate[]): Map<string, string[]> => {
  const shares = new Map(keys.map(key => [key, [] as string[]]))
  const ids = records.map(({record: {id}}) => id)
  for (const share of shares.values()) share.push(...ids.splice(0, 1))
  for (const [key, share] of shares) share.push(...ids.splice(0, (creates.get(key) ?? 1) - 1))
  return shares
}

/** A record equal to more of what was sent goes to the rows that sent more. */
const sizeOf = (fields: readonly Field[], {rows}: Group) => comparedOf(fields, rows[0]!.payload).length

const sayMany = (records: number, creates: number) =>
  `${records} records have the values of this row, but only ${creates === 1 ? 'one create' : `${creates} creates`} went unanswered. Check in the CRM which is this row's`

const sayNear = ([first]: Candidate[]) =>
  `Record ${first!.record.id} matches some of this row's values and may be its record, edited since. Check it in the CRM`

/** The CRM's ids are numbers that grow. */
const byAge = ({record: {id: one}}: Candidate, {record: {id: other}}: Candidate) => one.length - other.length || (one < other ? -1 : 1)
