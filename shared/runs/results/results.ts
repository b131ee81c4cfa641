import type {Db, Hot} from '../../../sql/database.ts'
import {type FinalEntry, OUTCOMES, PHASES} from '../../../sql/run-log.ts'
import {Refusal} from '../../errors.ts'
import type {Parsing} from '../../files/parser/pool.ts'
import type {FileDeps} from '../../files/stored-file.ts'
import type {Snapshot, SnapshotSource} from '../../mapping/flows/snapshot.ts'
import type {FoundRun} from '../find.ts'
import {assertKept, assertStillKept} from '../kept.ts'
import {readBy} from '../rows.ts'
import {RecordsMoved, readOutcomes} from './outcomes.ts'
import {writePlan} from './plan-csv.ts'
import {readPlannedValues} from './planned-values.ts'
import {openResultCache, type ResultStream} from './result-cache.ts'
import type {ResultsPart} from './results-csv.ts'
import type {OutcomeEntry, RowOutcome, RowOutcomeName} from './row-result.ts'

export type RunFile = 'results' | 'failed' | 'plan'

type RunFileDeps = Pick<FileDeps, 'storage'> & {db: Db; hot: Hot; parsing: Parsing}
type RunFileInput = {
  org: string
  run: number
  runId: string
  snapshot: Snapshot
  source: SnapshotSource
  part?: ResultsPart | undefined
  onNext?: (row: number) => void
}
/** Options of a file. `part` is allowed only for `results`. */
type RunFileOptions = {source?: string | undefined; part?: ResultsPart | undefined}

const resultCache = openResultCache()

/**
 * Makes the complete file before its first byte is sent, so that every failure is answered as a refusal. The file of an ended run never changes, so
 * it is cached.
 */
export const makeRunFile = async (
  deps: RunFileDeps,
  org: string,
  foundRun: FoundRun,
  kind: RunFile,
  {source: sourceId, part}: RunFileOptions = {},
): Promise<ResultStream> => {
  const {run} = foundRun
  assertKept(run)
  const snapshot = snapshotOf(foundRun, kind)
  const source = chooseSource(snapshot, sourceId)
  const key = run.state === 'ended' ? `${kind} ${run.id} ${source.no} ${JSON.stringify(part ?? {})}` : null
  const make = (onNext: (row: number) => void) =>
    whileKept(deps, run.no, WRITERS[kind](deps, {org, run: run.no, runId: run.id, snapshot, source, part, onNext}))
  try {
    return await resultCache.take(key, make)
  } catch (error) {
    if (!(error instanceof RecordsMoved)) throw error
    return await resultCache.take(key, make)
  }
}

/** Yields the file, then throws FILE_GONE if the run expired meanwhile, because the file may then lack rows. */
async function* whileKept({db}: RunFileDeps, run: number, file: AsyncGenerator<Uint8Array>) {
  yield* file
  await assertStillKept(db, run)
}

const snapshotOf = ({run, snapshot, unread}: FoundRun, kind: RunFile): Snapshot => {
  if (run.dryRun && kind !== 'plan')
    throw new Refusal('DRY_RUN', 'A dry run writes nothing, so it has no results. Download plan.csv to see what it would do')
  if (!run.dryRun && kind === 'plan')
    throw new Refusal('NOT_A_DRY_RUN', 'Only a dry run has a plan. Download results.csv for the results of this run')
  if (unread) throw unread
  if (snapshot) return snapshot
  throw new Refusal(
    'NO_FILE',
    run.engine === null
      ? 'The run has not begun, so it has read no file yet. Wait until it has begun'
      : 'Your own engine read the rows of this run, so there is no file here. Read the log of the run instead',
  )
}

/** Returns the source with this id, or the only source if `id` is undefined. Throws if the run read several, or did not read it. */
export const chooseSource = (snapshot: Snapshot, id: string | undefined): SnapshotSource => {
  const read = readBy(snapshot)
  if (id === undefined && read.length === 1) return read[0]!
  if (id === undefined)
    throw new Refusal('SOURCE_REQUIRED', 'The run read several files. Name one with ?source=', {
      sources: read.map(({id, label}) => ({id, label})),
    })
  const chosen = read.find(source => source.id === id)
  if (!chosen) throw new Refusal('SOURCE_NOT_FOUND', 'The run did not read this file. Check the source id')
  return chosen
}

const WRITERS: Record<RunFile, (deps: RunFileDeps, made: RunFileInput) => AsyncGenerator<Uint8Array>> = {
  async *results(deps, made) {
    const {org, source, part, onNext} = made
    const input = {source, part, modules: namesOf(made)}
    const next = yield* deps.parsing.stream(org, 'results', input, outcomesOf(deps, made))
    if (next !== null) onNext?.(next)
  },
  async *failed(deps, made) {
    const origin = {run: made.runId, source: made.source.id}
    yield* deps.parsing.stream(made.org, 'failed', {source: made.source, modules: namesOf(made), origin}, outcomesOf(deps, made))
  },
  plan: (deps, made) => {
    const modules = modulesOf(made).map(module => ({...module, fields: new Map(module.fields.map(({apiName, label}) => [apiName, label]))}))
    return writePlan({outcomes: outcomesOf(deps, made), values: valuesOf(deps, made), source: made.source.label, modules})
  },
}

const modulesOf = ({snapshot: {flows, modules}, source}: RunFileInput) =>
  modules.filter(({no}) => flows.some(({sourceNo, moduleNo}) => sourceNo === source.no && moduleNo === no))

const namesOf = (made: RunFileInput) => modulesOf(made).map(({apiName, label}) => ({apiName, label}))

const valuesOf = (deps: RunFileDeps, {run, snapshot: {flows}, source}: RunFileInput) =>
  readPlannedValues(deps, {run, flows: new Set(flows.filter(({sourceNo}) => sourceNo === source.no).map(({no}) => no))})

async function* outcomesOf(
  deps: RunFileDeps,
  {run, snapshot, source, part: {from = 1, to = source.rows} = {}}: RunFileInput,
): AsyncGenerator<RowOutcome[]> {
  const describe = describeIn(snapshot)
  for await (const finals of readOutcomes(deps, {run, source, flows: snapshot.flows, from, to})) {
    const rows: RowOutcome[] = []
    for (const final of finals) {
      const last = rows.at(-1)
      if (last?.rowNumber === final.number) last.entries.push(describe(final))
      else rows.push({rowNumber: final.number, entries: [describe(final)]})
    }
    yield rows
  }
}

const describeIn = ({modules}: Snapshot) => {
  const known = new Map(
    modules.map(({no, apiName, fields}) => [no, {apiName, labels: new Map(fields.map(field => [field.apiName, field.label]))}]),
  )
  return ({module: no, flow, phase, target, outcome, recordId, code, message, disclosed}: FinalEntry): OutcomeEntry => {
    const module = known.get(no)
    // Most messages about a value already name the field. In that case, `target` is null, so that the field does not appear twice.
    const field = phase === WRITE && target && message?.includes(target) ? null : target
    return {
      module: module?.apiName ?? '',
      flow,
      outcome: OUTCOMES[outcome] as RowOutcomeName,
      recordId,
      code,
      message,
      disclosed,
      phase: PHASES[phase]!,
      target: field && (module?.labels.get(field) ?? field),
    }
  }
}

const WRITE = 0
