import type {CrmRecord} from '../../shared/crm/crm.ts'
import {isWithin, type Window} from './candidates.ts'
import {comparedOf, type Field, isEqual, isNear} from './equal.ts'
import type {Row} from './row.ts'

/** `holder`: whether a row of the chain made it or took it, or only met it. `madeAtMs`: by this process's clock. */
export type Candidate = {record: CrmRecord; madeAtMs: number; holder: 'made' | 'met' | null}

/**
 * Rows whose lost creates sent one payload. `keys`: of all of them, in their order; `rows`: those to be judged now; `under`: when the first of
 * these creates may have been done, and the last.
 */
export type Group = {keys: string[]; rows: Row[]; under: Window}

export type Lot =
  /** The record is the row's. */
  | {is: 'equal'; recordId: string}
  /** Nobody can tell whether a record is the row's. */
  | {is: 'unclear'; message: string}
  /** There is no record that could be the row's. */
  | {is: 'none'}

type Asked = {fields: readonly Field[]; telling: (string | null | undefined)[]; groups: Group[]; candidates: Candidate[]}

/**
 * Which record is whose, after creates that nobody answered: records equal to what was sent go to the rows that sent it, the oldest to the
 * first. More records than rows, and somebody else made one: then all of them stay unclear. A record of a row of the chain is nobody else's.
 */
export const allot = ({fields, telling, groups, candidates}: Asked): Map<Row, Lot> => {
  const lots = new Map<Row, Lot>()
  const free = candidates.filter(({holder}) => holder !== 'made').sort(byAge)
  const given = new Set<Candidate>()
  const left: {row: Row; under: Window}[] = []
  for (const {keys, rows, under} of groups.toSorted((one, other) => sizeOf(fields, other) - sizeOf(fields, one))) {
    const {payload} = rows[0]!
    const isLike = (candidate: Candidate) =>
      !given.has(candidate) && isWithin(under, candidate.madeAtMs) && isEqual(fields, payload, candidate.record)
    const equal = free.filter(candidate => candidate.holder === null && isLike(candidate))
    // Where nobody can tell which is whose, any of them may be another group's.
    if (equal.length <= keys.length) for (const candidate of equal) given.add(candidate)
    for (const row of rows) {
      const candidate = equal[keys.indexOf(row.key)]
      if (equal.length > keys.length) lots.set(row, {is: 'unclear', message: sayMany(equal.length, keys.length)})
      else if (candidate) lots.set(row, {is: 'equal', recordId: candidate.record.id})
      else left.push({row, under})
    }
  }
  for (const {row, under} of left) {
    const isLike = ({record, madeAtMs}: Candidate) => isWithin(under, madeAtMs) && isNear(fields, row.payload, record, telling)
    const near = free.filter(candidate => !given.has(candidate) && isLike(candidate))
    lots.set(row, near.length ? {is: 'unclear', message: sayNear(near)} : {is: 'none'})
  }
  return lots
}

/** A record equal to more of what was sent goes to whoever sent more. */
const sizeOf = (fields: readonly Field[], {rows}: Group) => comparedOf(fields, rows[0]!.payload).length

const sayMany = (records: number, rows: number) =>
  `${records} records made since are equal to this row, and ${rows === 1 ? 'one create was' : `${rows} creates were`} lost`

const sayNear = ([first]: Candidate[]) => `Record ${first!.record.id}, made since, agrees with this row in part and may have been changed`

/** The CRM's ids are numbers that grow. */
const byAge = ({record: {id: one}}: Candidate, {record: {id: other}}: Candidate) => one.length - other.length || (one < other ? -1 : 1)
