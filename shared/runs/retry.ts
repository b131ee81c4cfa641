import type {Tx} from '../../sql/database.ts'
import {findRetryId, findRun, type Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {extendLineage, type Lineage} from '../flows/lineage.ts'
import type {Snapshot} from '../flows/snapshot.ts'
import {assertKept} from './kept.ts'
import {readRun} from './names.ts'

/** A run to be carried on, and what its chain has in common. */
type Retried = {no: number; chain: number; lineage: Lineage}

/**
 * The run that another is to carry on: an ended one of this import, and the last of its chain, so that no row is done again in two places.
 * The import is locked.
 */
export const findRetried = async (tx: Tx, {org, importNo, id}: {org: string; importNo: number; id: string}): Promise<Retried> => {
  const run = await findRun(tx, {org, id})
  if (!run || run.importNo !== importNo) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
  if (run.dryRun) throw new Refusal('DRY_RUN', 'A dry run writes nothing, so there is nothing of it to carry on: start a run')
  if (run.engine === 'outside')
    throw new Refusal('NO_FILE', "This run's rows were read by an engine of your own, which alone can write them again")
  await assertCarriedOn(tx, run)
  assertKept(run)
  const {snapshot, unread} = await readRun(tx, run)
  if (unread) throw unread
  return {no: run.no, chain: run.chainNo ?? run.no, lineage: lineageOf(snapshot!)}
}

/** A run of before there were chains numbered its modules and flows by their order alone. */
export const lineageOf = ({lineage, flows, sources}: Snapshot): Lineage =>
  lineage.flows.length ? lineage : {...lineage, ...extendLineage(null, {flows: flows.map(({flow}) => flow), sources})}

/** The run has ended, and no run carries it on yet. */
export const assertCarriedOn = async (tx: Tx, {no, state}: Run) => {
  if (state === 'authorised') throw new Refusal('NOT_READY', 'This run was never started: start it instead')
  if (state !== 'ended') throw new Refusal('IMPORT_RUNNING', 'The run has not ended: wait for it or cancel it')
  const later = await findRetryId(tx, no)
  if (later !== null) throw new Refusal('RUN_RETRIED', 'Another run has carried this one on already: retry that one', {run: later})
}
