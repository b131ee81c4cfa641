import type {Db, Hot} from '../../sql/database.ts'
import {type FinalEntry, OUTCOMES, PHASES} from '../../sql/run-log.ts'
import {Refusal} from '../errors.ts'
import type {Snapshot, SnapshotSource} from '../flows/snapshot.ts'
import {writeFailed} from '../imports/failed-csv.ts'
import {writePlan} from '../imports/plan-csv.ts'
import {type ResultsPart, writeResults} from '../imports/results-csv.ts'
import type {Outcome, OutcomeEntry, RowOutcome} from '../imports/row-result.ts'
import {openShelf, type Taken} from '../imports/shelf.ts'
import {type FilePlace, openFile} from '../imports/stored-file.ts'
import {StorageMissing} from '../storage.ts'
import type {FoundRun} from './find.ts'
import {assertKept, assertStillKept} from './kept.ts'
import {RecordsMoved, readOutcomes} from './outcomes.ts'
import {readPlannedValues} from './planned-values.ts'

/** The files made from a run and one of its sources. */
export type RunFile = 'results' | 'failed' | 'plan'

type Place = FilePlace & {db: Db; hot: Hot}
type Made = {run: number; snapshot: Snapshot; source: SnapshotSource; part?: ResultsPart | undefined; onNext?: (row: number) => void}
/** `part`: of results alone. */
type RunFileOptions = {source?: string | undefined; part?: ResultsPart | undefined}

/** One for the process, whoever asks. */
const shelf = openShelf()

/**
 * A file made from a run, whole before its first byte is sent, so that whatever is wrong is answered as a refusal. An ended run's says the
 * same whenever it is made, so it is kept for a while.
 */
export const makeRunFile = async (
  place: Place,
  found: FoundRun,
  kind: RunFile,
  {source: sourceId, part}: RunFileOptions = {},
): Promise<Taken> => {
  const {run} = found
  assertKept(run)
  const snapshot = snapshotOf(found, kind)
  const source = chooseSource(snapshot, sourceId)
  const key = run.state === 'ended' ? `${kind} ${run.id} ${source.no} ${JSON.stringify(part ?? {})}` : null
  const make = (onNext: (row: number) => void) =>
    whileKept(place, run.no, WRITERS[kind](place, {run: run.no, snapshot, source, part, onNext}))
  try {
    return await shelf.take(key, make)
  } catch (error) {
    if (!(error instanceof RecordsMoved)) throw error
    return await shelf.take(key, make)
  }
}

/** Of a run that expires while its file is made rows may be missing from it, so then there is none. */
async function* whileKept({db}: Place, run: number, file: AsyncGenerator<Buffer>) {
  yield* file
  await assertStillKept(db, run)
}

const snapshotOf = ({run, snapshot, unread}: FoundRun, kind: RunFile): Snapshot => {
  if (run.dryRun && kind !== 'plan')
    throw new Refusal('DRY_RUN', 'A dry run writes nothing, so it has no results: plan.csv says what it would have done')
  if (!run.dryRun && kind === 'plan')
    throw new Refusal('NOT_A_DRY_RUN', 'Only a dry run has a plan: results.csv says what became of the rows of this run')
  if (unread) throw unread
  if (snapshot) return snapshot
  throw new Refusal(
    'NO_FILE',
    run.engine === null
      ? 'The run has not begun, so it has read no file'
      : "This run's rows are read by an engine of your own, not from a file here: its log says what became of each",
  )
}

const chooseSource = ({sources, flows}: Snapshot, id: string | undefined): SnapshotSource => {
  const read = sources.filter(({no}) => flows.some(({sourceNo}) => sourceNo === no))
  if (id === undefined && read.length === 1) return read[0]!
  if (id === undefined)
    throw new Refusal('SOURCE_REQUIRED', 'The run read several files: name one with ?source=', {
      sources: read.map(({id, label}) => ({id, label})),
    })
  const chosen = read.find(source => source.id === id)
  if (!chosen) throw new Refusal('SOURCE_NOT_FOUND', 'The run read no such file')
  return chosen
}

const WRITERS: Record<RunFile, (place: Place, made: Made) => AsyncGenerator<Buffer>> = {
  results: (place, made) =>
    overFile(place, made, file => {
      const {part, onNext = () => {}} = made
      return writeResults({...file, outcomes: outcomesOf(place, made), modules: modulesOf(made), part, onNext})
    }),
  failed: (place, made) => overFile(place, made, file => writeFailed({...file, outcomes: outcomesOf(place, made)})),
  plan: (place, made) => {
    const modules = modulesOf(made).map(module => ({...module, fields: new Map(module.fields.map(({apiName, label}) => [apiName, label]))}))
    return writePlan({outcomes: outcomesOf(place, made), values: valuesOf(place, made), source: made.source.label, modules})
  },
}

type File = {columns: string[]; rows: Awaited<ReturnType<typeof openFile>>['rows']}

/** Of the file as the run had it: its reader and its cleaning are the snapshot's. */
async function* overFile(place: Place, {source}: Made, write: (file: File) => AsyncGenerator<Buffer>) {
  try {
    const {fileColumns, rows} = await openFile(place, source)
    yield* write({columns: fileColumns, rows})
  } catch (error) {
    if (error instanceof StorageMissing) throw new Refusal('FILE_GONE', 'The file of this run is no longer in storage')
    throw error
  }
}

/** Those its flows write from this source. */
const modulesOf = ({snapshot: {flows, modules}, source}: Made) =>
  modules.filter(({no}) => flows.some(({sourceNo, moduleNo}) => sourceNo === source.no && moduleNo === no))

const valuesOf = (place: Place, {run, snapshot: {flows}, source}: Made) =>
  readPlannedValues(place, {run, flows: new Set(flows.filter(({sourceNo}) => sourceNo === source.no).map(({no}) => no))})

async function* outcomesOf(
  place: Place,
  {run, snapshot, source, part: {from = 1, to = source.rows} = {}}: Made,
): AsyncGenerator<RowOutcome[]> {
  const describe = describeIn(snapshot)
  for await (const finals of readOutcomes(place, {run, source, flows: snapshot.flows, from, to})) {
    const rows: RowOutcome[] = []
    for (const final of finals) {
      const last = rows.at(-1)
      if (last?.rowNumber === final.number) last.entries.push(describe(final))
      else rows.push({rowNumber: final.number, entries: [describe(final)]})
    }
    yield rows
  }
}

/** Entries name modules and fields as the connection names them. */
const describeIn = ({modules}: Snapshot) => {
  const known = new Map(
    modules.map(({no, apiName, fields}) => [no, {apiName, labels: new Map(fields.map(field => [field.apiName, field.label]))}]),
  )
  return ({module: no, flow, phase, target, outcome, recordId, code, message, disclosed}: FinalEntry): OutcomeEntry => {
    const module = known.get(no)
    // Most sentences about a value name its field themselves.
    const field = phase === WRITE && target && message?.includes(target) ? null : target
    return {
      ...{module: module?.apiName ?? '', flow, outcome: OUTCOMES[outcome] as Outcome, recordId, code, message, disclosed},
      ...{phase: PHASES[phase]!, target: field && (module?.labels.get(field) ?? field)},
    }
  }
}

const WRITE = 0
