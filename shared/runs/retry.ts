import type {Tx} from '../../sql/database.ts'
import {findRetryId, findRun, findUnbegunRetry, type Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {extendLineage, type Lineage} from '../mapping/flows/lineage.ts'
import type {Snapshot} from '../mapping/flows/snapshot.ts'
import {assertKept} from './kept.ts'
import {readRun} from './names.ts'
import {assertNotUndone} from './undo/undo-status.ts'

type RetriedRun = {no: number; id: string; chain: number; lineage: Lineage; planNo: number | null}

/**
 * Finds the run to retry: an ended run of this import by the service's own engine. The run must be the last of its chain, so that two runs cannot
 * retry one row. If a retry of the run ended before it began, returns that retry instead. The caller must have locked the import.
 */
export const findRetried = async (tx: Tx, {org, importNo, id}: {org: string; importNo: number; id: string}): Promise<RetriedRun> => {
  const run = await findRun(tx, {org, id})
  if (!run || run.importNo !== importNo) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
  if (run.dryRun) throw new Refusal('DRY_RUN', 'A dry run writes nothing, so it cannot be retried. Start a run instead')
  if (run.engine === 'outside')
    throw new Refusal('NO_FILE', 'Your own engine read the rows of this run, so only that engine can retry them')
  const unbegun = await findUnbegunRetry(tx, run.no)
  if (unbegun !== null) return findRetried(tx, {org, importNo, id: unbegun})
  await assertRetriable(tx, run)
  assertKept(run)
  const {snapshot, unread} = await readRun(tx, run)
  if (unread) throw unread
  return {no: run.no, id, chain: run.chainNo ?? run.no, lineage: lineageOf(snapshot!), planNo: run.planNo}
}

/**
 * Returns the lineage of a snapshot. An early snapshot has no lineage, so its modules and flows are numbered by their order. An early lineage stores
 * no modules of flows, so it gets those of the snapshot's flows.
 */
export const lineageOf = ({lineage, flows, sources}: Snapshot): Lineage => {
  if (lineage.flows.length === 0) return {...lineage, ...extendLineage(null, {flows: flows.map(({flow}) => flow), sources})}
  const modules = new Map(flows.map(({flow}) => [flow.id, flow.module]))
  return {...lineage, flows: lineage.flows.map(pin => ({...pin, module: pin.module ?? modules.get(pin.id)}))}
}

export const assertRetriable = async (tx: Tx, run: Run) => {
  await assertNotUndone(tx, run)
  const {no, state, engine} = run
  if (state === 'authorised') throw new Refusal('NOT_READY', 'This run was never started. Start it instead of retrying it')
  if (state !== 'ended') throw new Refusal('IMPORT_RUNNING', 'The run has not ended. Wait for it to end, or cancel it')
  if (engine === null) throw new Refusal('NOT_READY', 'This run ended before it began, so there is nothing to retry. Start a new run')
  const later = await findRetryId(tx, no)
  if (later !== null) throw new Refusal('RUN_RETRIED', 'Another run has already retried this run. Retry that run instead', {run: later})
}
