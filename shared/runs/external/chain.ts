import type {Tx} from '../../../sql/database.ts'
import {type ExternalRun, findLastExternalRun, insertNames, joinChain, leaveChain, listNames} from '../../../sql/external-runs.ts'
import {findRun, type Run} from '../../../sql/runs.ts'
import {findUndoState} from '../../../sql/undo.ts'
import {Refusal} from '../../errors.ts'
import {assertKept} from '../kept.ts'
import {readRun} from '../names.ts'
import {assertRetriable, lineageOf} from '../retry.ts'

type PreviousQuery = {org: string; person: string; admin: boolean; importNo: number | null; id: string; connector?: string | undefined}

/**
 * Finds the run that a new external run continues. That run must have begun and ended, not be undone, be the last of its chain, and belong to the
 * import `importNo`, or to no import if null. Removes from the chain a retry that was authorised but never began.
 */
export const findPrevious = async (tx: Tx, {org, person, admin, importNo, id, connector}: PreviousQuery): Promise<Run> => {
  const run = await findRun(tx, {org, id})
  if (!run || run.importNo !== importNo) throw new Refusal('RUN_NOT_FOUND', 'There is no such run of this import')
  if (importNo === null && run.personId !== person && !admin) throw new Refusal('NOT_YOUR_RUN', 'Another member authorised this run')
  if (connector !== undefined && run.connectorId !== null && run.connectorId !== connector)
    throw new Refusal(
      'RUN_CONNECTOR_MISMATCH',
      'The run to retry wrote through another connection. Name that connection, or leave retryOf out',
    )
  if (run.dryRun) throw new Refusal('DRY_RUN', 'A dry run writes nothing, so it cannot be retried. Leave retryOf out')
  await leaveChain(tx, {previous: run.no})
  await assertRetriable(tx, run)
  assertKept(run)
  return run
}

/**
 * Adds a starting run to a retry chain. With `retryOf`, this is the chain of that run. Without `retryOf`, this is the chain of the import's latest
 * ended external run that no started run retries. If an undo of that run has begun, the starting run stays the first of a new chain. Removes from
 * the chain a retry that was authorised but never began. The starting run takes over the chain's numbers of modules and flows. The caller must have
 * locked the run and its import.
 */
export const enterChain = async (tx: Tx, run: ExternalRun): Promise<void> => {
  const previous = await findChainEnd(tx, run)
  if (!previous) return
  await leaveChain(tx, {previous: previous.no})
  await joinChain(tx, {run: run.no, previous})
  Object.assign(run, {chainNo: previous.chain, retryOf: previous.id, retryChain: previous.chain})
  await insertNames(tx, {run: run.no, names: await listChainNames(tx, {org: run.org, id: previous.id})})
}

const findChainEnd = async (tx: Tx, {org, no, importNo, retryOf}: ExternalRun) => {
  if (retryOf === null) {
    const last = importNo === null ? null : await findLastExternalRun(tx, {importNo, run: no})
    return last && (await findUndoState(tx, last.no)).begunBy === null ? last : null
  }
  const run = await findRun(tx, {org, id: retryOf})
  return run && {no: run.no, id: run.id, chain: run.chainNo ?? run.no}
}

const listChainNames = async (tx: Tx, named: {org: string; id: string}) => {
  const run = (await findRun(tx, named))!
  if (run.engine === 'outside') return listNames(tx, run.no)
  const {snapshot, unread} = await readRun(tx, run)
  if (unread) throw unread
  const {modules, flows} = lineageOf(snapshot!)
  return [
    ...modules.map((name, at) => ({kind: 'module' as const, no: at + 1, name})),
    ...flows.map(({id: name}, at) => ({kind: 'flow' as const, no: at + 1, name})),
  ]
}
