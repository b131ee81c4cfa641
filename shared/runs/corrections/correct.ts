import type {Readable} from 'node:stream'
import {isDeepStrictEqual} from 'node:util'
import type {Db, Hot} from '../../../sql/database.ts'
import {findPlan} from '../../../sql/plans.ts'
import {type FinalEntry, OUTCOMES} from '../../../sql/run-log.ts'
import {findRetryId} from '../../../sql/runs.ts'
import {Refusal} from '../../errors.ts'
import {ingest} from '../../files/ingest.ts'
import {explainLift, mostBytesOf, type SourceDeps} from '../../files/sources/add.ts'
import {editSource} from '../../files/sources/edit.ts'
import {assertOpen, findImportSource} from '../../files/sources/find.ts'
import {newId} from '../../ids.ts'
import type {Snapshot, SnapshotSource} from '../../mapping/flows/snapshot.ts'
import {type FoundRun, findImportRun} from '../find.ts'
import {RecordsMoved, readOutcomes} from '../results/outcomes.ts'
import {frozenOf} from '../rows.ts'
import type {Corrections} from './find-corrections.ts'

type CorrectionDeps = SourceDeps & {hot: Hot}
type CorrectInput = {org: string; importId: string; runId: string; source: string | undefined; charset: string | undefined; body: Readable}

export type CorrectedSource = Pick<Corrections, 'rows' | 'matchedBy'> & {run: string; source: string; cells: number}

/**
 * Matches the rows of a corrected file to the rows of an ended run. Stores the changed cells as edited cells of the run's file. A retry
 * then writes these rows under their row numbers, and no row twice. The corrected file itself is not kept.
 */
export const correctRun = async (deps: CorrectionDeps, {body, charset, ...input}: CorrectInput): Promise<CorrectedSource> => {
  const {org, importId} = input
  await assertOpen(deps.db, {org, importId})
  deps.parsing.assertRoom(org)
  const {source, snapshot, frozen, run} = await findCorrected(deps, input)
  const {limits} = await findPlan(deps.db, org)
  const key = `${org}/${importId}/${newId('src')}`
  const upload = {body, maxBytes: mostBytesOf(deps.config, limits), storage: deps.storage, key, named: {charset}}
  const match = async (reader: unknown) => {
    const settled = await readAgainIfMoved(() => listSettled(deps, {run: run.no, snapshot, source: frozen}))
    return deps.parsing.run(org, 'corrections', {source, corrected: {fileKey: key, reader}, settled, keys: keysOf(snapshot, frozen)})
  }
  const {found} = await ingest(upload, async file => match((await deps.parsing.run(org, 'readNew', file)).reader)).catch(error =>
    explainLift(deps, org, error),
  )
  await deps.storage.remove(key)
  if (found.cells.length > 0) await editSource(deps, {org, importId, sourceId: source.id}, {cells: found.cells})
  return {run: run.id, source: source.id, rows: found.rows, cells: found.cells.length, matchedBy: found.matchedBy}
}

/**
 * Finds the last run of the chain and that run's file. The file must still be in the import and be read as in the run, because edited cells
 * refer to rows by number.
 */
const findCorrected = async ({db}: CorrectionDeps, {org, importId, runId, source: named}: Omit<CorrectInput, 'body' | 'charset'>) => {
  const foundRun = await findLastRun(db, {org, importId, runId})
  const {run} = foundRun
  if (run.dryRun)
    throw new Refusal('DRY_RUN', 'A dry run writes nothing, so there is nothing to correct. Edit the rows of the import instead')
  if (run.state !== 'ended') throw new Refusal('IMPORT_RUNNING', 'The run has not ended. Wait for it to end, or cancel it')
  const {snapshot, source: frozen} = frozenOf(foundRun, named)
  const {source} = await findImportSource(db, {org, importId, sourceId: frozen.id})
  if (!isDeepStrictEqual(source.reader, frozen.reader))
    throw new Refusal(
      'SNAPSHOT_CHANGED',
      `"${source.label}" is read with other options than in the run. Restore the options, then correct its rows`,
    )
  return {run, source, snapshot, frozen}
}

/** Finds the last run of the retry chain, because only that run can be retried. Rows have the same numbers in every run of the chain. */
const findLastRun = async (db: Db, {org, importId, runId}: Pick<CorrectInput, 'org' | 'importId' | 'runId'>): Promise<FoundRun> => {
  const found = await findImportRun(db, {org, importId, runId})
  const later = await findRetryId(db, found.run.no)
  return later === null ? found : findLastRun(db, {org, importId, runId: later})
}

/**
 * Returns the columns of the match fields of the file's first flow with a match. Empty without such a flow, or if a match field is not read
 * from a column.
 */
const keysOf = ({flows}: Snapshot, {no}: SnapshotSource): string[] => {
  const flow = flows.find(({sourceNo, flow}) => sourceNo === no && flow.match)?.flow
  const columns = flow?.match?.by.map(name => flow.fields.find(({field}) => field === name)) ?? []
  return columns.every(field => field?.mode === 'column') ? columns.map(field => (field as {source: string}).source) : []
}

const readAgainIfMoved = <T>(read: () => Promise<T>): Promise<T> =>
  read().catch(error => {
    if (error instanceof RecordsMoved) return read()
    throw error
  })

const writtenOutcomes = ['created', 'updated', 'inherited', 'unanswered']
const openOutcomes = ['failed', 'refused', 'skipped', 'would_ask']

type SettledQuery = {run: number; snapshot: Snapshot; source: SnapshotSource}

/**
 * Lists the rows that no retry writes, in ascending order. At least one final entry of such a row is created, updated, inherited or
 * unanswered, and none is failed, refused, skipped or `would_ask`.
 */
const listSettled = async (deps: CorrectionDeps, {run, snapshot, source}: SettledQuery): Promise<Uint32Array> => {
  const rows: number[] = []
  for await (const finals of readOutcomes(deps, {run, source, flows: snapshot.flows}))
    for (const [number, entries] of Map.groupBy(finals, ({number}) => number)) if (isSettled(entries)) rows.push(number)
  return Uint32Array.from(rows)
}

const isSettled = (entries: FinalEntry[]) => {
  const outcomes = entries.map(({outcome}) => OUTCOMES[outcome]!)
  return outcomes.some(outcome => writtenOutcomes.includes(outcome)) && !outcomes.some(outcome => openOutcomes.includes(outcome))
}
