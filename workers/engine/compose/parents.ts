import type {FileRow} from '../../../shared/files/row.ts'
import {matchKeyOf} from '../../../shared/mapping/flows/match-key.ts'
import {isParentBefore, type Parent} from '../../../shared/mapping/flows/parent.ts'
import type {Snapshot, SnapshotFlow, SnapshotSource} from '../../../shared/mapping/flows/snapshot.ts'
import {parentOf} from '../../../shared/mapping/flows/subform.ts'
import {findRecordsOf, HOW} from '../../../sql/chain-rows.ts'
import {findParentRows} from '../../../sql/parent-keys.ts'
import {listEnds, OUTCOMES} from '../../../sql/run-log.ts'
import type {Context} from '../context.ts'
import {type CompiledFlow, type ImportRow, isRow, type RowFailure} from '../model.ts'
import {withRowKeys} from './compose-row.ts'
import type {LookupNote} from './link-rows.ts'

/**
 * The link of a flow's rows to their parents. `order` says where the parents are. `before`: in a flow that ends before this one begins.
 * `self`: in the same flow; a row waits for parents above it. `after`: in a later flow.
 */
export type ParentLink = {
  field: string
  flow: {no: number; id: string; moduleNo: number}
  order: 'before' | 'self' | 'after'
  /** The positions of the key columns. `parent`: in `source`, the parents' file. `child`: in the flow's own file. */
  key: {parent: number; child: number; source: SnapshotSource} | null
  onMissing: Parent['onMissing']
}

/** The rows of the parent flow to which a row may belong: their numbers in file order, at most the first 100. */
export type ParentCandidates = {numbers: number[]}

type ParentSnapshot = Pick<Snapshot, 'sources' | 'flows'>

export const compileParentLink = ({flow, sourceNo}: SnapshotFlow, {sources, flows}: ParentSnapshot): ParentLink | null => {
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
    field,
    onMissing,
    flow: {no: of.no, id: of.flow.id, moduleNo: of.moduleNo},
    order: before ? 'before' : of.flow.id === flow.id ? 'self' : 'after',
    key: key ? {parent: source.columns.indexOf(key.parentColumn), child: columns.indexOf(key.childColumn), source} : null,
  }
}

/** Returns the 16-byte hash of a key cell; null for an empty cell. Keys are case-sensitive. */
export const parentKeyOf = (cell: string | undefined): Buffer | null => matchKeyOf([cell], [{apiName: 'key', type: 'id'}])

/**
 * Finds the possible parent rows of each row, by row number. Without key columns, the parent row is the row with the same number. A row
 * with an empty key has no entry.
 */
export const findParentCandidates = async (
  {hot, run}: Pick<Context, 'hot' | 'run'>,
  compiled: CompiledFlow,
  rows: FileRow[],
): Promise<Map<number, ParentCandidates>> => {
  const {key} = compiled.parent!
  if (!key) return new Map(rows.map(({rowNumber}) => [rowNumber, {numbers: [rowNumber]}]))
  const keyed = rows.flatMap(({rowNumber, cells}) => {
    const hash = parentKeyOf(cells[key.child])
    return hash ? [{rowNumber, hash}] : []
  })
  if (keyed.length === 0) return new Map()
  const hashes = [...new Map(keyed.map(({hash}) => [hash.toString('latin1'), hash])).values()]
  const found = Map.groupBy(await findParentRows(hot, {run: run.no, flow: compiled.no, hashes}), ({hash}) => hash.toString('latin1'))
  return new Map(
    keyed.map(({rowNumber, hash}) => [rowNumber, {numbers: (found.get(hash.toString('latin1')) ?? []).map(({number}) => number)}]),
  )
}

/**
 * Links rows to the records of their parents, and returns all rows in their order. A row with no parent record, or with several, ends or
 * continues as `onMissing` says. A row with an empty key gets no link. A row whose parent is above it in the same flow waits for the parent. A
 * link to a later row or flow stays empty until the patch pass.
 */
export const linkParents = async (
  ctx: Context,
  compiled: CompiledFlow,
  composed: (ImportRow | RowFailure)[],
  candidates: Map<number, ParentCandidates>,
) => {
  const {order} = compiled.parent!
  if (order === 'after') return composed
  const rows = composed.filter(one => isRow(one))
  if (order === 'self') for (const row of rows) row.isAwaited = true
  const belonging = rows.filter(({number}) => candidates.has(number))
  const now: ImportRow[] = []
  for (const row of belonging) {
    row.parentCandidates = candidates.get(row.number)!
    const above = order === 'self' ? row.parentCandidates.numbers.filter(number => number < row.number) : []
    if (above.length) row.waitsFor = above.map(number => `${compiled.id}.${number}`)
    else if (order === 'before' || row.parentCandidates.numbers.length === 0) now.push(row)
  }
  const joined = await joinParents(ctx, compiled, now)
  return composed.map(one => joined.get(one as ImportRow) ?? one)
}

/**
 * Links rows that no longer wait for a parent. Returns, for each of these rows, the linked row or its failure. Omits rows whose link the patch pass
 * writes.
 */
export const joinParents = (ctx: Context, compiled: CompiledFlow, rows: ImportRow[]): Promise<Map<ImportRow, ImportRow | RowFailure>> => {
  const isSelf = compiled.parent!.order === 'self'
  for (const row of rows) row.waitsFor = undefined
  return joinRows(ctx, compiled, rows, {
    numbersOf: ({parentCandidates: candidates, number}) => (isSelf ? candidates!.numbers.filter(one => one < number) : candidates!.numbers),
    isLater: ({parentCandidates: candidates, number}) => isSelf && candidates!.numbers.some(one => one >= number),
  })
}

/**
 * Adds the links to parents that come later than their rows, and returns all rows in their order. Call it after all flows. Skips rows that
 * already have a link to a parent above them.
 */
export const linkLate = async (
  ctx: Context,
  compiled: CompiledFlow,
  composed: (ImportRow | RowFailure)[],
  candidates: Map<number, ParentCandidates>,
) => {
  const isSelf = compiled.parent!.order === 'self'
  const belonging = composed.filter(one => isRow(one)).filter(({number}) => candidates.has(number))
  for (const row of belonging) row.parentCandidates = candidates.get(row.number)!
  const above = ({parentCandidates: candidates, number}: ImportRow) => candidates!.numbers.filter(one => one < number)
  const linked = isSelf ? await findRecords(ctx, compiled.parent!, belonging.flatMap(above)) : new Map()
  const open = belonging.filter(
    row => !isSelf || (row.parentCandidates!.numbers.some(one => one >= row.number) && !above(row).some(one => linked.has(one))),
  )
  const joined = await joinRows(ctx, compiled, open, {
    numbersOf: ({parentCandidates: candidates, number}) =>
      isSelf ? candidates!.numbers.filter(one => one >= number) : candidates!.numbers,
    isLater: () => false,
  })
  return composed.map(one => joined.get(one as ImportRow) ?? one)
}

/** Links rows whose parent link an earlier run left empty. Considers all parent candidates, whatever the `order` of the parents. */
export const linkAgain = async (ctx: Context, compiled: CompiledFlow, rows: ImportRow[], candidates: Map<number, ParentCandidates>) => {
  const belonging = rows.filter(({number}) => candidates.has(number))
  for (const row of belonging) row.parentCandidates = candidates.get(row.number)!
  return joinRows(ctx, compiled, belonging, {numbersOf: ({parentCandidates: candidates}) => candidates!.numbers, isLater: () => false})
}

/** A parent's record. `number`: the first parent row that has the record. `isMade`: this run created the record. */
export type ParentRecord = {recordId: string; number: number; isMade: boolean}

/** Returns the parent record of each row, or how the row ends without one, by row number. */
export const findParents = async (
  ctx: Context,
  compiled: CompiledFlow,
  rows: FileRow[],
): Promise<Map<number, ParentRecord | MissingParent>> => {
  const link = compiled.parent!
  const candidates = await findParentCandidates(ctx, compiled, rows)
  const records = await readRecords(
    ctx,
    link,
    [...candidates.values()].flatMap(({numbers}) => numbers),
  )
  const named = rows.map(({rowNumber}) => {
    const numbers = candidates.get(rowNumber)?.numbers ?? []
    return {rowNumber, hasKey: candidates.has(rowNumber), numbers, ids: new Set(numbers.flatMap(one => records.get(one)?.recordId ?? []))}
  })
  const ends = await findEnds(
    ctx,
    link,
    named.flatMap(({numbers, ids}) => (ids.size ? [] : numbers.slice(0, 1))),
  )
  const belonging = ({hasKey, numbers, ids}: (typeof named)[number]): ParentRecord | MissingParent => {
    if (ids.size > 1) return {...describeManyParents(compiled, numbers, [...ids]), end: 'failed'}
    const number = numbers.find(one => records.has(one))
    if (number !== undefined) return {...records.get(number)!, number, isMade: numbers.some(one => records.get(one)?.isMade)}
    if (!hasKey) return {code: 'NONE', message: 'The row has no key of a parent row', end: 'failed'}
    return {...describeMissingParent(compiled, numbers, ends), end: numbers.length ? 'skipped' : 'failed'}
  }
  return new Map(named.map(one => [one.rowNumber, belonging(one)]))
}

const readRecords = async ({hot, run, chain, retried}: Context, parent: ParentLink, numbers: number[]) => {
  const keyed = new Map([...new Set(numbers)].map(number => [keyOf(parent, number), number]))
  if (keyed.size === 0) return new Map<number, Omit<ParentRecord, 'number'>>()
  const found = await findRecordsOf(hot, {chain, before: retried ?? chain, module: parent.flow.moduleNo, keys: [...keyed.keys()]})
  return new Map(found.map(({key, recordId, how, run: by}) => [keyed.get(key)!, {recordId, isMade: how === HOW.made && by === run.no}]))
}

type JoinOptions = {numbersOf(row: ImportRow): number[]; isLater(row: ImportRow): boolean}

const joinRows = async (ctx: Context, compiled: CompiledFlow, rows: ImportRow[], {numbersOf, isLater}: JoinOptions) => {
  const joined = new Map<ImportRow, ImportRow | RowFailure>()
  if (rows.length === 0) return joined
  const records = await findRecords(ctx, compiled.parent!, rows.flatMap(numbersOf))
  const idsOf = (row: ImportRow) => [...new Set(numbersOf(row).flatMap(number => records.get(number) ?? []))]
  const rowsWithoutParent = rows.filter(row => idsOf(row).length === 0).flatMap(row => numbersOf(row).slice(0, 1))
  const ends = await findEnds(ctx, compiled.parent!, rowsWithoutParent)
  for (const row of rows) {
    const ids = idsOf(row)
    const numbers = numbersOf(row)
    if (ids.length === 1) joined.set(row, withLink(compiled, row, ids[0]!))
    else if (ids.length > 1) joined.set(row, withoutParent(compiled, row, describeManyParents(compiled, numbers, ids)))
    else if (!isLater(row)) joined.set(row, withoutParent(compiled, row, describeMissingParent(compiled, numbers, ends)))
  }
  return joined
}

const keyOf = ({flow}: ParentLink, number: number) => `${flow.id}.${number}`

const findRecords = async (ctx: Context, parent: ParentLink, numbers: number[]): Promise<Map<number, string>> =>
  new Map([...(await readRecords(ctx, parent, numbers))].map(([number, {recordId}]) => [number, recordId]))

const findEnds = async ({db, run}: Context, parent: ParentLink, numbers: number[]): Promise<Map<number, RowEnd>> => {
  if (numbers.length === 0) return new Map()
  const ends = await listEnds(db, {run: run.no, flow: parent.flow.no, numbers: [...new Set(numbers)]})
  return new Map(ends.map(({number, outcome, code}) => [number, {outcome: OUTCOMES[outcome]!, code}]))
}

/** Links the row in place, because other rows may refer to the row or wait for it. */
const withLink = (compiled: CompiledFlow, row: ImportRow, id: string): ImportRow => {
  row.payload = {...row.payload, [compiled.parent!.field]: {id}}
  if (!compiled.matchFields.some(({apiName}) => apiName === compiled.parent!.field)) return row
  const {matchKey, lockKeys} = withRowKeys(compiled, row.key, row.number, row.payload)
  return Object.assign(row, {matchKey, lockKeys})
}

type ParentProblem = Pick<LookupNote, 'code' | 'message'>
export type MissingParent = ParentProblem & {end: 'failed' | 'skipped'}

export const parentProblemCode = ({code}: ParentProblem) => (code === 'MANY' ? 'PARENT_MANY' : 'PARENT_FAILED')

const withoutParent = (compiled: CompiledFlow, row: ImportRow, {code, message}: ParentProblem): ImportRow | RowFailure => {
  const {field, onMissing} = compiled.parent!
  if (onMissing === 'leave' || row.decided) {
    row.emptyLinks = [...(row.emptyLinks ?? []), field]
    if (!row.open) row.notes = [...(row.notes ?? []), {field, code, message: `${message}: the link was left empty`, recordId: null}]
    return row
  }
  const isSkipped = onMissing === 'skip'
  return {
    number: row.number,
    key: row.key,
    code: parentProblemCode({code, message}),
    target: field,
    message: `${message}: the row was ${isSkipped ? 'skipped' : 'not written'}`,
    ...(row.notes && {notes: row.notes}),
    ...(row.unmapped && {unmapped: row.unmapped}),
    ...(isSkipped && {end: 'skipped'}),
  }
}

const describeManyParents = ({parent}: CompiledFlow, numbers: number[], ids: string[]): ParentProblem => ({
  code: 'MANY',
  message: `The rows of flow ${parent!.flow.id} with this key have ${ids.length} records (row ${numbers[0]} and others)`,
})

const describeMissingParent = ({parent}: CompiledFlow, numbers: number[], ends: Map<number, RowEnd>): ParentProblem => {
  const [first] = numbers
  if (first === undefined) return {code: 'NONE', message: `No row of flow ${parent!.flow.id} has this key`}
  const why = describeEnd(ends.get(first))
  return {code: 'NONE', message: `Row ${first} of flow ${parent!.flow.id}, which this one belongs to, ${why} and has no record`}
}

type RowEnd = {outcome: string; code: string | null}

export const describeEnd = (end: RowEnd | undefined): string => {
  const {[end?.outcome ?? '']: why = 'was not written by this run'} = WHY
  return end?.code ? `${why} (${end.code})` : why
}

const WHY: Record<string, string> = {
  refused: 'was refused',
  failed: 'failed',
  skipped: 'was skipped',
  unanswered: 'was not answered',
}
