import {readSnapshot} from '../../../shared/runs/names.ts'
import {openRowSort} from '../../../shared/runs/results/row-sort.ts'
import {type BeforeImage, type FieldValues, readImages} from '../../../shared/runs/undo/before-image.ts'
import {findImageSeal, type ImageSeal} from '../../../shared/runs/undo/image-key.ts'
import {findRun, type Run} from '../../../sql/runs.ts'
import {listDeletedRows, listMadeRows, listReturnedRows, listRowsOfMade, listUnknownRows, listWrittenPlaces} from '../../../sql/undo.ts'
import {compileFlows} from '../compose/compiled-flow.ts'
import type {Context} from '../context.ts'
import {openMarks} from '../edits/record-marks.ts'
import type {ComparedField} from '../match/compare-values.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {RunStopped} from '../run-endings.ts'
import {isSubform} from '../subform/record-order.ts'
import {listRowFields} from '../subform/row-values.ts'
import {listExternalFlows} from './external-flows.ts'
import {loadPresentNames} from './renamed-modules.ts'

type UndoneRow = Pick<ImportRow, 'key' | 'number' | 'counted'> & {flow: number; module: number}

/**
 * What an undo does with a record. `rows`: it restores the rows of a subform field. `unknown`: nothing, because the record's create was never
 * answered. `unkept`: nothing, because the CRM did not show the values before a write.
 */
export type UndoEffect = 'restore' | 'rows' | 'delete' | 'undelete' | 'unknown' | 'unkept'

/**
 * One record to undo, combined from all rows of the run that wrote it. `before`: the first value of each field before the run. `sent`: the
 * last value that was sent. `sentEarlier`: the values of earlier rows; the record still has one of them if the CRM refused the last. `marks`:
 * the marks of the record before its first write. With the effect `rows`, `flow` is the flow of the subform rows.
 */
export type UndoRecord = {
  flow: CompiledFlow
  recordId: string
  effect: UndoEffect
  rows: UndoneRow[]
  before: FieldValues
  sent: FieldValues
  sentEarlier: FieldValues[]
  marks: string | undefined
  /** Whether the undone run took the record out of the recycle bin, so that deleting it again is the undo. */
  isReturned: boolean
  /** Whether a row sent a create that was never answered, and then an update of this record. */
  hasLostCreate?: boolean
}

/** `run` and `chain`: the undone run and its retry chain. */
export type UndoSource = {
  run: Run
  chain: number
  /**
   * The retry chain of the run that wrote first, found through undos of undos. Earlier runs of this chain may have created the records that the undo
   * writes. Null: that run is the first of its chain, so there are no earlier runs.
   */
  firstChain: number | null
  seal: ImageSeal
  flows: CompiledFlow[]
  passes: UndoEffect[][]
  /** The row fields of each subform flow, by the number of its module. */
  rowFields: ReadonlyMap<number, ComparedField[]>
}

export const openUndoSource = async (ctx: Context): Promise<UndoSource> => {
  const {config, db} = ctx
  const run = await findRun(db, {org: ctx.run.org, id: ctx.run.undoOf!})
  const seal = run && (await findImageSeal({db, ring: config.SECRETS_KEYS}, run))
  if (!run || !seal)
    throw new RunStopped({
      stopped: 'UNDO_EXPIRED',
      message: 'The values that this run would restore were deleted, so nothing more can be undone',
    })
  const flows = run.snapshotNo === null ? await listExternalFlows(db, run) : await compileWrittenFlows(db, run, run.snapshotNo)
  if (run.undoOf !== null) for (const flow of flows) flow.addsTags = false
  await openMarks(ctx, flows)
  // Links are restored before the records to which they point are deleted. The undo of an undo first restores these records.
  const writes: UndoEffect[][] =
    run.undoOf === null
      ? [
          ['restore', 'rows', 'unkept'],
          ['delete', 'unknown'],
        ]
      : [['undelete'], ['restore', 'rows']]
  const passes = flows.some(flow => flow.deletes) ? [[run.undoOf === null ? ('undelete' as const) : ('delete' as const)]] : writes
  const rowFields = new Map<number, ComparedField[]>()
  for (const {module} of flows.filter(isSubform))
    rowFields.set(module.no, await listRowFields(db, {connector: run.connectorId!, module: module.apiName}))
  return {run, chain: run.chainNo ?? run.no, firstChain: await findFirstChain(ctx, run), seal, flows, passes, rowFields}
}

/** Compiles the flows of the run with the present API names of its modules. */
const compileWrittenFlows = async (db: Context['db'], {connectorId}: Run, snapshotNo: number): Promise<CompiledFlow[]> => {
  const snapshot = await readSnapshot(db, snapshotNo)
  const names = snapshot.modules.map(({apiName}) => apiName)
  const nameOf = await loadPresentNames(db, {connector: connectorId!, discovery: snapshot.discovery, until: null, names})
  return compileFlows({...snapshot, modules: snapshot.modules.map(module => ({...module, apiName: nameOf(module.apiName)}))})
}

/** Follows undos of undos to the run that wrote first, and returns its chain. Null if that run is the first of its chain. */
const findFirstChain = async (ctx: Pick<Context, 'db'>, run: Run): Promise<number | null> => {
  if (run.undoOf === null) return run.retryOf === null ? null : run.chainNo
  const undone = await findRun(ctx.db, {org: run.org, id: run.undoOf})
  return undone && findFirstChain(ctx, undone)
}

/**
 * What one row did to one record. `rank`: orders the modules, see `rankModules`. `at`: orders the traces of a record as they were written.
 * `nested`: the row is a subform row of a record that the run created. `returned`: the row took the record out of the recycle bin.
 */
type Trace = {
  rank: number
  recordId: string
  at: number
  kind: 'image' | 'made' | 'nested' | 'deleted' | 'returned' | 'unknown'
  image: BeforeImage
}

/**
 * Yields the records that one pass undoes. Modules come in the reverse order of their flows, or in the same order if an undo is undone. The
 * order of the records is always the same.
 */
export async function* readUndoRecords(ctx: Context, source: UndoSource, effects: UndoEffect[]): AsyncGenerator<UndoRecord> {
  const sorting = openRowSort<Trace>({compare, sizeOf})
  try {
    for await (const traces of tracesOf(ctx, source)) await sorting.add(traces)
    let group: Trace[] = []
    for await (const sorted of sorting.sorted()) {
      for (const trace of sorted) {
        const [first] = group
        if (first && (first.rank !== trace.rank || first.recordId !== trace.recordId)) {
          yield* foldWanted(source, group, effects)
          group = []
        }
        group.push(trace)
      }
    }
    if (group.length > 0) yield* foldWanted(source, group, effects)
  } finally {
    await sorting.close()
  }
}

const compare = (a: Trace, b: Trace) => a.rank - b.rank || (a.recordId < b.recordId ? -1 : a.recordId > b.recordId ? 1 : a.at - b.at)
const sizeOf = ({image}: Trace) => 300 + JSON.stringify(image).length

const rowsPerLook = 5_000

async function* tracesOf({db, storage}: Context, source: UndoSource): AsyncGenerator<Trace[]> {
  const {run, chain, seal} = source
  const rankOf = rankModules(source)
  const subforms = source.flows.filter(isSubform)
  // Subform rows are undone with their parent record, so the module of the parent applies.
  const moduleOf = (image: BeforeImage) =>
    (image.subform && subforms.find(({module}) => module.no === image.module)?.subform.link.flow.moduleNo) ?? image.module
  const named = async function* (kind: Trace['kind'], list: typeof listMadeRows): AsyncGenerator<Trace[]> {
    for await (const rows of pagesOf(after => list(db, {chain, run: run.no, after, limit: rowsPerLook})))
      yield rows.map(row => ({rank: rankOf(row.module), recordId: row.recordId, at: 0, kind, image: imageOf(source, row)}))
  }
  // In a run with delete flows, the rows name the deleted records. The images may also name records that a person deleted first.
  if (source.flows.some(flow => flow.deletes)) {
    yield* run.undoOf === null ? named('deleted', listDeletedRows) : named('returned', listReturnedRows)
    return
  }
  for await (const {at, images} of readImages({db, storage}, {run: run.no, seal})) {
    const refused = run.undoOf === null ? await findRefused(db, source, images) : new Set()
    yield images.flatMap((image, n) =>
      refused.has(image) ? [] : [{rank: rankOf(moduleOf(image)), recordId: image.recordId, at: at + n, kind: 'image', image}],
    )
  }
  if (run.undoOf !== null) return
  yield* named('made', listMadeRows)
  for (const {module, subform} of subforms) {
    const parent = subform.link.flow.moduleNo
    for await (const nested of pagesOf(after =>
      listRowsOfMade(db, {chain, run: run.no, module: module.no, parent, after, limit: rowsPerLook}),
    ))
      yield nested.map(row => ({
        rank: rankOf(parent),
        recordId: row.recordId,
        at: Number.MAX_SAFE_INTEGER,
        kind: 'nested',
        image: imageOf(source, row),
      }))
  }
  for await (const rows of pagesOf(after => listUnknownRows(db, {chain, run: run.no, after, limit: rowsPerLook})))
    yield rows.map(({module, key, target}) => ({
      rank: rankOf(module),
      recordId: target ?? `unknown ${key}`,
      at: -1,
      kind: 'unknown',
      image: imageOf(source, {module, key, recordId: target ?? ''}),
    }))
}

/**
 * Returns the images of updates and subform rows that the CRM refused, or that were not sent. The run did not write their values, so the undo leaves
 * them. It includes no images of refused patches, because the run voids them.
 */
const findRefused = async (db: Context['db'], {chain, run}: UndoSource, images: BeforeImage[]): Promise<Set<unknown>> => {
  const updates = images.filter(({phase}) => phase === 'write')
  // A row of an external engine may have written several records, of which the chain names the last.
  const ofAnyRecord = run.snapshotNo === null
  const written = new Set(await listWrittenPlaces(db, {chain, rows: updates, ofAnyRecord}))
  return new Set(updates.filter((_, at) => !written.has(at + 1)))
}

type NamedRow = {module: number; key: string; recordId: string}

const imageOf = ({flows}: UndoSource, {module, key, recordId}: NamedRow): BeforeImage => {
  const end = key.lastIndexOf('.')
  const flow = flows.find(({id}) => id === key.slice(0, end)) ?? flows.find(one => one.module.no === module)!
  // The key of an external row can have any form, so it gives no row number.
  return {row: flow.no === 0 ? 0 : Number(key.slice(end + 1)), key, flow: flow.no, module, recordId, phase: 'write', before: {}, sent: {}}
}

async function* pagesOf<T extends {module: number; key: string}>(list: (after: {module: number; key: string}) => Promise<readonly T[]>) {
  for (let after = {module: 0, key: ''}; ; ) {
    const page = await list(after)
    if (page.length > 0) yield page
    if (page.length < rowsPerLook) return
    after = page.at(-1)!
  }
}

/**
 * Ranks modules for an undo in the reverse order of the last flows that wrote them. The undo of an undo uses the order of the flows, so that
 * parents are restored before their children.
 */
const rankModules = ({run, flows}: UndoSource) => {
  const last = new Map(flows.map(({module}, at) => [module.no, at]))
  return (module: number) => (run.undoOf === null ? -1 : 1) * (last.get(module) ?? 0)
}

function* foldWanted(source: UndoSource, traces: Trace[], effects: UndoEffect[]): Generator<UndoRecord> {
  for (const of of splitTraces(dropReplaced(traces))) {
    const record = fold(source, of)
    if (effects.includes(record.effect)) yield record
  }
}

/** Separates the subform rows of a record from its fields, unless the record is deleted with both. */
const splitTraces = (traces: Trace[]): Trace[][] =>
  traces.some(({kind}) => kind === 'made') ? [traces] : [...Map.groupBy(traces, ({image}) => image.subform?.field).values()]

/** Uses the later image if two owners stored an image of the same row, attempt and item. Drops voided images. */
const dropReplaced = (traces: Trace[]): Trace[] => {
  const latest = new Map<string, Trace>()
  for (const trace of traces) {
    const {module, key, phase, attempt = '', item = ''} = trace.image
    const name = `${trace.kind} ${module} ${key} ${phase} ${attempt} ${item}`
    latest.delete(name)
    latest.set(name, trace)
  }
  return [...latest.values()].filter(({image}) => !image.isVoid)
}

/**
 * Orders images by attempt. Within one attempt, the latest image comes first. Two images share an attempt number if the first item was not sent, or
 * if two requests read the number together. Both requests then read the record before either write. Only the later image contains a person's change
 * in between.
 */
const byAttempt = (images: BeforeImage[]): BeforeImage[] =>
  [...Map.groupBy(images, ({module, key, phase, attempt}) => `${module} ${key} ${phase} ${attempt}`).values()].flatMap(same =>
    same.reverse(),
  )

const fold = ({flows}: UndoSource, kept: Trace[]): UndoRecord => {
  const images = kept.filter(({kind}) => kind === 'image').map(({image}) => image)
  const earliest = byAttempt(images)
  const {image} = (kept.find(({kind}) => kind === 'made') ?? kept.find(({kind}) => kind !== 'unknown') ?? kept[0])!
  return {
    flow: (flows.find(({no, module}) => no === image.flow && module.no === image.module) ??
      flows.find(({module}) => module.no === image.module))!,
    recordId: image.recordId,
    effect: effectOf(kept),
    rows: listUndoneRows(kept),
    before: Object.assign({}, ...earliest.map(({before}) => before).reverse()),
    sent: Object.assign({}, ...images.map(({sent}) => sent ?? {})),
    sentEarlier: images.slice(0, -1).map(({sent}) => sent ?? {}),
    marks: earliest[0]?.marks,
    isReturned: kept.some(({kind}) => kind === 'returned'),
    hasLostCreate: kept.some(({kind}) => kind === 'unknown'),
  }
}

/** Lists each row once. The first row is a row of `UndoRecord.flow`; rows nested in a created record come last. */
const listUndoneRows = (traces: Trace[]): UndoneRow[] => {
  const rows = traces.flatMap(({image: {key, row, flow, module, subform, undoneRows}}) =>
    (undoneRows ?? subform?.rows ?? [{key, number: row}]).map((one): UndoneRow => ({flow, module, ...one, counted: null})),
  )
  return [...new Map(rows.map(row => [`${row.module} ${row.key}`, row])).values()]
}

const effectOf = (traces: Trace[]): UndoEffect => {
  if (traces.some(({kind}) => kind === 'made' || kind === 'returned')) return 'delete'
  if (traces.some(({kind}) => kind === 'deleted')) return 'undelete'
  if (traces.every(({kind}) => kind === 'unknown')) return 'unknown'
  if (traces.some(({image}) => image.sent === null)) return 'undelete'
  if (traces.some(({image}) => image.isUnread)) return 'unkept'
  return traces[0]!.image.subform ? 'rows' : 'restore'
}
