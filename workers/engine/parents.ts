import {matchKeyOf} from '../../shared/flows/match-key.ts'
import {isParentBefore, type Parent} from '../../shared/flows/parent.ts'
import type {Snapshot, SnapshotFlow, SnapshotSource} from '../../shared/flows/snapshot.ts'
import {parentOf} from '../../shared/flows/subform.ts'
import type {Row as FileRow} from '../../shared/imports/row.ts'
import {findRecordsOf, HOW} from '../../sql/chain-rows.ts'
import {findParentRows} from '../../sql/parent-keys.ts'
import {listEnds, OUTCOMES} from '../../sql/run-log.ts'
import type {Context} from './context.ts'
import type {LookupNote} from './linking.ts'
import {dress, type Failure, isRow, type Row} from './row.ts'
import type {Track} from './track.ts'

/**
 * Where a flow's rows have their parents. `before`: in a flow that is over when this one begins. `self`: among the flow's own rows, of
 * which those further up are waited for. `after`: in a later flow.
 */
export type ParentLink = {
  field: string
  flow: {no: number; id: string; moduleNo: number}
  order: 'before' | 'self' | 'after'
  /** `parent`: the column of `source` that its rows are known by. */
  key: {parent: number; child: number; source: SnapshotSource} | null
  onMissing: Parent['onMissing']
}

/** Rows of the parent flow that a row may belong to, in their order. */
export type Kin = {numbers: number[]}

type Frozen = Pick<Snapshot, 'sources' | 'flows'>

/** Null for a flow without parents. */
export const layParent = ({flow, sourceNo}: SnapshotFlow, {sources, flows}: Frozen): ParentLink | null => {
  const parent = parentOf(flow)
  if (!parent) return null
  const of = flows.find(one => one.flow.id === parent.flow)!
  const source = sources.find(({no}) => no === of.sourceNo)!
  const columns = sources.find(({no}) => no === sourceNo)!.columns
  const named = flows.map(one => one.flow)
  const before = isParentBefore(
    named,
    named.findIndex(({id}) => id === flow.id),
    parent,
  )
  const {key, field, onMissing} = parent
  return {
    ...{field, onMissing, flow: {no: of.no, id: of.flow.id, moduleNo: of.moduleNo}},
    order: before ? 'before' : of.flow.id === flow.id ? 'self' : 'after',
    key: key ? {parent: source.columns.indexOf(key.parentColumn), child: columns.indexOf(key.childColumn), source} : null,
  }
}

/** What a key column says, as 16 bytes; null for a cell that says nothing. Letters of one size and the other are different keys. */
export const parentKeyOf = (cell: string | undefined): Buffer | null => matchKeyOf([cell], [{apiName: 'key', type: 'id'}])

/** The rows that these may belong to; those without a key belong to none. */
export const findKin = async ({hot, run}: Pick<Context, 'hot' | 'run'>, track: Track, rows: FileRow[]): Promise<Map<number, Kin>> => {
  const {key} = track.parent!
  if (!key) return new Map(rows.map(({rowNumber}) => [rowNumber, {numbers: [rowNumber]}]))
  const keyed = rows.flatMap(({rowNumber, cells}) => {
    const hash = parentKeyOf(cells[key.child])
    return hash ? [{rowNumber, hash}] : []
  })
  if (keyed.length === 0) return new Map()
  const hashes = [...new Map(keyed.map(({hash}) => [hash.toString('latin1'), hash])).values()]
  const found = Map.groupBy(await findParentRows(hot, {run: run.no, flow: track.no, hashes}), ({hash}) => hash.toString('latin1'))
  return new Map(
    keyed.map(({rowNumber, hash}) => [rowNumber, {numbers: (found.get(hash.toString('latin1')) ?? []).map(({number}) => number)}]),
  )
}

/**
 * Gives rows the records of the rows they belong to, or the end their flow has for a parent without one. A row whose parent stands further
 * up in the same flow is told to wait for it; a link that can only be written later is left out.
 */
export const linkParents = async (ctx: Context, track: Track, composed: (Row | Failure)[], kin: Map<number, Kin>) => {
  const {order} = track.parent!
  if (order === 'after') return composed
  const rows = composed.filter(one => isRow(one))
  if (order === 'self') for (const row of rows) row.isAwaited = true
  const belonging = rows.filter(({number}) => kin.has(number))
  const now: Row[] = []
  for (const row of belonging) {
    row.kin = kin.get(row.number)!
    const above = order === 'self' ? row.kin.numbers.filter(number => number < row.number) : []
    if (above.length) row.waitsFor = above.map(number => `${track.id}.${number}`)
    else if (order === 'before' || row.kin.numbers.length === 0) now.push(row)
  }
  const joined = await joinParents(ctx, track, now)
  return composed.map(one => joined.get(one as Row) ?? one)
}

/** Of rows that wait for nobody any more, each with its link or as it ends; without those whose link is written later. */
export const joinParents = (ctx: Context, track: Track, rows: Row[]): Promise<Map<Row, Row | Failure>> => {
  const isSelf = track.parent!.order === 'self'
  for (const row of rows) row.waitsFor = undefined
  return join(ctx, track, rows, {
    numbersOf: ({kin, number}) => (isSelf ? kin!.numbers.filter(one => one < number) : kin!.numbers),
    isLater: ({kin, number}) => isSelf && kin!.numbers.some(one => one >= number),
  })
}

/** After all flows: gives rows the links that could not be written with them. One whose parent stood further up has its link. */
export const linkLate = async (ctx: Context, track: Track, composed: (Row | Failure)[], kin: Map<number, Kin>) => {
  const isSelf = track.parent!.order === 'self'
  const belonging = composed.filter(one => isRow(one)).filter(({number}) => kin.has(number))
  for (const row of belonging) row.kin = kin.get(row.number)!
  const above = ({kin, number}: Row) => kin!.numbers.filter(one => one < number)
  const linked = isSelf ? await findRecords(ctx, track.parent!, belonging.flatMap(above)) : new Map()
  const open = belonging.filter(
    row => !isSelf || (row.kin!.numbers.some(one => one >= row.number) && !above(row).some(one => linked.has(one))),
  )
  const joined = await join(ctx, track, open, {
    numbersOf: ({kin, number}) => (isSelf ? kin!.numbers.filter(one => one >= number) : kin!.numbers),
    isLater: () => false,
  })
  return composed.map(one => joined.get(one as Row) ?? one)
}

/** `number`: of the first of its parents with the record. `isMade`: this run made it. */
export type Belonging = {recordId: string; number: number; isMade: boolean}

/** Of rows by number: the one record that each belongs to, or how it ends without one. */
export const findParents = async (ctx: Context, track: Track, rows: FileRow[]): Promise<Map<number, Belonging | Bereft>> => {
  const link = track.parent!
  const kin = await findKin(ctx, track, rows)
  const records = await readRecords(
    ctx,
    link,
    [...kin.values()].flatMap(({numbers}) => numbers),
  )
  const named = rows.map(({rowNumber}) => {
    const numbers = kin.get(rowNumber)?.numbers ?? []
    return {rowNumber, hasKey: kin.has(rowNumber), numbers, ids: new Set(numbers.flatMap(one => records.get(one)?.recordId ?? []))}
  })
  const ends = await findEnds(
    ctx,
    link,
    named.flatMap(({numbers, ids}) => (ids.size ? [] : numbers.slice(0, 1))),
  )
  const belonging = ({hasKey, numbers, ids}: (typeof named)[number]): Belonging | Bereft => {
    if (ids.size > 1) return {...sayMany(track, numbers, [...ids]), end: 'failed'}
    const number = numbers.find(one => records.has(one))
    if (number !== undefined) return {...records.get(number)!, number, isMade: numbers.some(one => records.get(one)?.isMade)}
    if (!hasKey) return {code: 'NONE', message: 'The row does not say which row it belongs to', end: 'failed'}
    return {...sayMissing(track, numbers, ends), end: numbers.length ? 'skipped' : 'failed'}
  }
  return new Map(named.map(one => [one.rowNumber, belonging(one)]))
}

/** By row number. */
const readRecords = async ({hot, run, chain, retried}: Context, parent: ParentLink, numbers: number[]) => {
  const keyed = new Map([...new Set(numbers)].map(number => [keyOf(parent, number), number]))
  if (keyed.size === 0) return new Map<number, Omit<Belonging, 'number'>>()
  const found = await findRecordsOf(hot, {chain, before: retried ?? chain, module: parent.flow.moduleNo, keys: [...keyed.keys()]})
  return new Map(found.map(({key, recordId, how, run: by}) => [keyed.get(key)!, {recordId, isMade: how === HOW.made && by === run.no}]))
}

type Joining = {numbersOf(row: Row): number[]; isLater(row: Row): boolean}

const join = async (ctx: Context, track: Track, rows: Row[], {numbersOf, isLater}: Joining) => {
  const joined = new Map<Row, Row | Failure>()
  if (rows.length === 0) return joined
  const records = await findRecords(ctx, track.parent!, rows.flatMap(numbersOf))
  const idsOf = (row: Row) => [...new Set(numbersOf(row).flatMap(number => records.get(number) ?? []))]
  const bereft = rows.filter(row => idsOf(row).length === 0).flatMap(row => numbersOf(row).slice(0, 1))
  const ends = await findEnds(ctx, track.parent!, bereft)
  for (const row of rows) {
    const ids = idsOf(row)
    const numbers = numbersOf(row)
    if (ids.length === 1) joined.set(row, withLink(track, row, ids[0]!))
    else if (ids.length > 1) joined.set(row, without(track, row, sayMany(track, numbers, ids)))
    else if (!isLater(row)) joined.set(row, without(track, row, sayMissing(track, numbers, ends)))
  }
  return joined
}

const keyOf = ({flow}: ParentLink, number: number) => `${flow.id}.${number}`

/** By row number. */
const findRecords = async (ctx: Context, parent: ParentLink, numbers: number[]): Promise<Map<number, string>> =>
  new Map([...(await readRecords(ctx, parent, numbers))].map(([number, {recordId}]) => [number, recordId]))

const findEnds = async ({db, run}: Context, parent: ParentLink, numbers: number[]): Promise<Map<number, string>> => {
  if (numbers.length === 0) return new Map()
  const ends = await listEnds(db, {run: run.no, flow: parent.flow.no, numbers: [...new Set(numbers)]})
  return new Map(ends.map(({number, outcome}) => [number, OUTCOMES[outcome]!]))
}

/** The row itself goes on, for others may hold or wait for it by then. */
const withLink = (track: Track, row: Row, id: string): Row => {
  row.payload = {...row.payload, [track.parent!.field]: {id}}
  if (!track.matchFields.some(({apiName}) => apiName === track.parent!.field)) return row
  const {matchKey, holds} = dress(track, row.key, row.number, row.payload)
  return Object.assign(row, {matchKey, holds})
}

type Missing = Pick<LookupNote, 'code' | 'message'>
export type Bereft = Missing & {end: 'failed' | 'skipped'}

/** Of a row that ends by it. */
export const codeOf = ({code}: Missing) => (code === 'MANY' ? 'PARENT_MANY' : 'PARENT_FAILED')

const without = (track: Track, row: Row, {code, message}: Missing): Row | Failure => {
  const {field, onMissing} = track.parent!
  if (onMissing === 'leave' || row.decided) {
    if (!row.open) row.notes = [...(row.notes ?? []), {field, code, message: `${message}: the link was left empty`, recordId: null}]
    return row
  }
  const isSkipped = onMissing === 'skip'
  return {
    ...{number: row.number, key: row.key, code: codeOf({code, message}), target: field},
    message: `${message}: the row was ${isSkipped ? 'skipped' : 'not written'}`,
    ...(row.notes && {notes: row.notes}),
    ...(isSkipped && {end: 'skipped'}),
  }
}

const sayMany = ({parent}: Track, numbers: number[], ids: string[]): Missing => ({
  code: 'MANY',
  message: `${ids.length} records come of the rows of flow ${parent!.flow.id} with this key (row ${numbers[0]} and others)`,
})

const sayMissing = ({parent}: Track, numbers: number[], ends: Map<number, string>): Missing => {
  const [first] = numbers
  if (first === undefined) return {code: 'NONE', message: `No row of flow ${parent!.flow.id} has this key`}
  const {[ends.get(first) ?? '']: why = 'was not written by this run'} = WHY
  return {code: 'NONE', message: `Row ${first} of flow ${parent!.flow.id}, which this one belongs to, ${why} and has no record`}
}

const WHY: Record<string, string> = {
  refused: 'was refused',
  failed: 'failed',
  skipped: 'was skipped',
  unanswered: 'was not answered',
}
