import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {compareAge} from '../../../shared/crm/record-age.ts'
import {type ComparedField, comparedOf, isEqual, isNear} from '../match/compare-values.ts'
import type {ImportRow} from '../model.ts'
import {type CreateInterval, isWithin} from './candidates.ts'

/**
 * A record that a lost create may have made. `madeAtMs`: its creation time, by this process's clock. `holder`: `made` if a row of this
 * chain, or of an overlapping run at the CRM org, created or claimed the record; `met` if a row of the chain only matched or updated it.
 */
export type LostCreateCandidate = {record: CrmRecord; madeAtMs: number; holder: 'made' | 'met' | null}

/**
 * Rows that sent the same payload in unanswered creates. `keys`: the keys of all these rows, in file order. `creates`: the number of
 * unanswered creates by row key. `rows`: the rows to match now. `under`: the interval in which the CRM may have executed these creates.
 */
export type Group = {keys: string[]; creates: ReadonlyMap<string, number>; rows: ImportRow[]; under: CreateInterval}

export type RowMatch =
  /** The record belongs to the row. `others`: equal records that further creates of the row may have made. */
  | {is: 'equal'; recordId: string; others: string[]}
  | {is: 'unclear'; message: string}
  /** No record can belong to the row. */
  | {is: 'none'}

/** `telling`: names of decisive fields. A record that differs from a row may be the row's record only if it agrees in these fields (`isNear`). */
type MatchInput = {
  fields: readonly ComparedField[]
  telling: readonly (string | null | undefined)[]
  groups: Group[]
  candidates: LostCreateCandidate[]
}

/**
 * Assigns records to rows with unanswered creates. Each row of a group gets one equal record, oldest first; rows with several creates then
 * get the rest. If equal records outnumber creates, every row of the group is unclear. A row without a record is also unclear if a record
 * has some of its values. A record that a row created, claimed, matched or updated is never assigned.
 */
export const matchLostCreates = ({fields, telling, groups, candidates}: MatchInput): Map<ImportRow, RowMatch> => {
  const matches = new Map<ImportRow, RowMatch>()
  const free = candidates.filter(({holder}) => holder !== 'made').sort(byAge)
  const given = new Set<LostCreateCandidate>()
  const left: {row: ImportRow; under: CreateInterval}[] = []
  for (const group of groups.toSorted((one, other) => sizeOf(fields, other) - sizeOf(fields, one))) {
    const {keys, creates, rows, under} = group
    const isLike = (candidate: LostCreateCandidate) =>
      !given.has(candidate) && isWithin(under, candidate.madeAtMs) && isEqual(fields, rows[0]!.payload, candidate.record)
    const equal = free.filter(candidate => candidate.holder === null && isLike(candidate))
    const lost = keys.reduce((sum, key) => sum + (creates.get(key) ?? 1), 0)
    const isClear = equal.length <= lost
    // Records with an unclear owner stay available, because they may belong to another group.
    if (isClear) for (const candidate of equal) given.add(candidate)
    const recordsOf = isClear ? shareOut(group, equal) : null
    for (const row of rows) {
      const [first, ...others] = recordsOf?.get(row.key) ?? []
      if (!recordsOf) matches.set(row, {is: 'unclear', message: describeManyMatches(equal.length, lost)})
      else if (first) matches.set(row, {is: 'equal', recordId: first, others})
      else left.push({row, under})
    }
  }
  for (const {row, under} of left) {
    const isLike = ({record, madeAtMs}: LostCreateCandidate) => isWithin(under, madeAtMs) && isNear(fields, row.payload, record, telling)
    const near = free.filter(candidate => !given.has(candidate) && isLike(candidate))
    matches.set(row, near.length ? {is: 'unclear', message: describeNearMatch(near)} : {is: 'none'})
  }
  return matches
}

/** Assigns record ids to row keys: first one to each row, then one for each further create. */
const shareOut = ({keys, creates}: Group, records: LostCreateCandidate[]): Map<string, string[]> => {
  const shares = new Map(keys.map(key => [key, [] as string[]]))
  const ids = records.map(({record: {id}}) => id)
  for (const share of shares.values()) share.push(...ids.splice(0, 1))
  for (const [key, share] of shares) share.push(...ids.splice(0, (creates.get(key) ?? 1) - 1))
  return shares
}

/** Returns the number of compared fields. A record that equals several payloads is assigned to the payload with the largest number. */
const sizeOf = (fields: readonly ComparedField[], {rows}: Group) => comparedOf(fields, rows[0]!.payload).length

const describeManyMatches = (records: number, creates: number) =>
  `${records} records have the values of this row, but only ${creates === 1 ? 'one create' : `${creates} creates`} went unanswered. Check in the CRM which is this row's`

const describeNearMatch = ([first]: LostCreateCandidate[]) =>
  `Record ${first!.record.id} matches some of this row's values and may be its record, edited since. Check it in the CRM`

const byAge = ({record: one}: LostCreateCandidate, {record: other}: LostCreateCandidate) => compareAge(one.id, other.id)
