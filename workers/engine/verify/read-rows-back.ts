import type {RunSeal} from '../../../shared/runs/run-seal.ts'
import {listRunWriters} from '../../../sql/chain-rows.ts'
import {listLastWrites} from '../../../sql/undo.ts'
import {listInFlight, listSharing, type QueueEntry} from '../../../sql/verify-queue.ts'
import type {Context} from '../context.ts'
import {formOf} from '../match/compare-values.ts'
import {readWholeUnlessRefused} from '../match/read-by-id.ts'
import {type FlowOf, type ReadRows, STAMPS} from './judge-rows.ts'
import {findModuleField} from './module-field.ts'
import {unpackWritten, type WrittenRow} from './written-rows.ts'

type ReadContext = {ctx: Context; flowOf: FlowOf; seal: RunSeal}

export type OpenEntry = QueueEntry & {rows: WrittenRow[]}

export const openEntries = (entries: readonly QueueEntry[], seal: RunSeal): OpenEntry[] =>
  entries.map(entry => ({...entry, rows: unpackWritten(entry.sealed, seal)}))

/**
 * Reads the records of these entries by id, a hundred per call. Returns the entries that can be judged now, and their rows as they were read.
 * An entry cannot be judged while a batch in flight writes one of its differing records.
 */
export const readRowsBack = async (of: ReadContext, entries: readonly OpenEntry[]): Promise<{judged: OpenEntry[]; read: ReadRows[]}> => {
  const read = await readRecords(
    of,
    entries.flatMap(({rows}) => rows.filter(({isSure}) => isSure)),
  )
  const differingRows = read.flatMap(({rows, records}) => rows.filter(row => differs(of, row, records)))
  if (differingRows.length === 0) return {judged: [...entries], read}
  const {db, run, chain, snapshot} = of.ctx
  const records = [...new Set(differingRows.map(({recordId}) => recordId))]
  const names = {run: run.no, records}
  // List batches in flight before entries and writes: a batch that settles in between then appears among these.
  const inFlight = new Set(await listInFlight(db, names))
  const later = openEntries(await listSharing(db, {...names, from: entries[0]!}), of.seal)
  const writes = await listLastWrites(db, {chain, modules: snapshot.modules.map(({no}) => no), records})
  const lastWrites = new Map(writes.map(({recordId, writtenAt}) => [recordId, writtenAt]))
  const judged = entries.filter(({rows}) => !rows.some(({recordId}) => inFlight.has(recordId)))
  const unordered = await findUnordered(of.ctx, read, {later, records})
  const differing = new Set(differingRows.map(recordOf))
  return {judged, read: keepOwnValues(read, {judged, later, differing, unordered, lastWrites})}
}

/**
 * Finds the differing records that a row outside the verify queue wrote too. The queue does not show whether such a row wrote before or after the
 * queued rows. If the run queues every row, there are none.
 */
const findUnordered = async (
  {db, chain, run}: Context,
  read: readonly ReadRows[],
  {later, records}: Pick<SharedRecords, 'later'> & {records: string[]},
): Promise<ReadonlySet<string>> => {
  if (run.verify === 'all') return new Set()
  const modules = [...new Set(read.flatMap(({rows}) => rows.map(({module}) => module)))]
  const queued = new Set(later.flatMap(({rows}) => rows.map(({key}) => key)))
  const writers = await listRunWriters(db, {chain, run: run.no, modules, records})
  return new Set(writers.flatMap(writer => (queued.has(writer.key) ? [] : [recordOf(writer)])))
}

/** Reads the rows of each flow together, because they have the same fields. */
const readRecords = ({ctx, flowOf}: ReadContext, rows: WrittenRow[]): Promise<ReadRows[]> =>
  Promise.all(
    [...Map.groupBy(rows, flowOf)].map(async ([flow, of]) => {
      const ids = [...new Set(of.map(({recordId}) => recordId))]
      const fields = [...new Set([...of.flatMap(({sent}) => Object.keys(sent)), ...STAMPS])]
      return {rows: of, records: await readWholeUnlessRefused(ctx, flow, {ids, fields})}
    }),
  )

const differs = ({flowOf}: ReadContext, row: WrittenRow, records: ReadRows['records']): boolean => {
  const record = records?.get(row.recordId)
  if (!record) return records !== null
  const {module} = flowOf(row)
  return Object.entries(row.sent).some(([name, sent]) => {
    const read = record[name]
    if (read !== undefined && read === sent) return false
    const field = findModuleField(module, name)
    return field && formOf(field, sent) !== formOf(field, read)
  })
}

/** `differing` and `unordered`: names of records, see `recordOf`. `lastWrites`: by record id. */
type SharedRecords = {
  judged: readonly OpenEntry[]
  later: readonly OpenEntry[]
  differing: ReadonlySet<string>
  unordered: ReadonlySet<string>
  lastWrites: ReadonlyMap<string, string>
}

/**
 * Keeps the rows and values to judge. Drops rows of entries that cannot be judged yet. Omits a value that a later row of the run wrote to the same
 * record, because the later row is judged by it. For a record in `unordered`, omits all values, unless the record is missing. The write time of a row
 * becomes the time of the chain's last write to the record, which may be a tag or a subform row.
 */
const keepOwnValues = (read: readonly ReadRows[], {judged, later, differing, unordered, lastWrites}: SharedRecords): ReadRows[] => {
  const mine = new Map(judged.flatMap(entry => entry.rows.map((row, at) => [nameOf(row), placeOf(entry, at)])))
  const writes = Map.groupBy(
    later.flatMap(entry => entry.rows.map((row, at) => ({row, place: placeOf(entry, at)}))),
    ({row}) => recordOf(row),
  )
  return read.map(({rows, records}) => ({
    records,
    rows: rows.flatMap(row => {
      const place = mine.get(nameOf(row))
      if (place === undefined) return []
      const record = recordOf(row)
      if (!differing.has(record)) return [row]
      if (unordered.has(record) && records?.has(row.recordId)) return [{...row, sent: {}}]
      const after = (writes.get(record) ?? []).filter(write => isAfter(write.place, place))
      const sent = Object.fromEntries(Object.entries(row.sent).filter(([name]) => !after.some(write => name in write.row.sent)))
      return [{...row, sent, writtenAt: lastWrites.get(row.recordId) ?? row.writtenAt}]
    }),
  }))
}

/** Names a record. At a generic destination, records of different modules may have the same id. */
const recordOf = ({module, recordId}: Pick<WrittenRow, 'module' | 'recordId'>) => `${module} ${recordId}`

const nameOf = ({module, flow, key, phase, recordId, isSure}: WrittenRow) => `${module} ${flow} ${key} ${phase} ${recordId} ${isSure}`

type WritePosition = readonly [number, number, number]

const placeOf = ({fence, settleNo}: OpenEntry, at: number): WritePosition => [fence, settleNo, at]

const isAfter = (one: WritePosition, other: WritePosition): boolean => {
  const at = one.findIndex((value, index) => value !== other[index])
  return at >= 0 && one[at]! > other[at]!
}
