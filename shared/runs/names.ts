import type {Db, Tx} from '../../sql/database.ts'
import {listNames, numberName} from '../../sql/outside-runs.ts'
import {findSnapshot} from '../../sql/run-snapshots.ts'
import type {Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {SNAPSHOT_FORMAT, Snapshot} from '../flows/snapshot.ts'

/** How a run's log and counts name its modules and flows. */
export type RunNames = {flows: {no: number; id: string}[]; modules: {no: number; apiName: string}[]}

/** What the run froze, where the service's own engine carries it, and the names either kind of run knows. */
export const readRun = async (db: Db, run: Run): Promise<{snapshot: Snapshot | null; names: RunNames}> => {
  const snapshot = run.snapshotNo === null ? null : await readSnapshot(db, run.snapshotNo)
  return {snapshot, names: snapshot ? namesOf(snapshot) : await readNames(db, run.no)}
}

export const namesOf = ({flows, modules}: Pick<Snapshot, 'flows' | 'modules'>): RunNames => ({
  flows: flows.map(({no, flow}) => ({no, id: flow.id})),
  modules,
})

/** Those an outside engine's calls have named so far. */
export const readNames = async (db: Db, run: number): Promise<RunNames> => {
  const names = await listNames(db, run)
  return {
    flows: names.filter(({kind}) => kind === 'flow').map(({no, name}) => ({no, id: name})),
    modules: names.filter(({kind}) => kind === 'module').map(({no, name}) => ({no, apiName: name})),
  }
}

const mostFlows = 1_000

/** The run is locked. Nobody has a thousand flows: an engine that names each row's own would fill the table. */
export const numberFlow = async (tx: Tx, {run, flow}: {run: number; flow: string | null}): Promise<number | null> => {
  if (flow === null) return null
  const no = await numberName(tx, {run, kind: 'flow', name: flow})
  if (no > mostFlows) throw new Refusal('INVALID', `A run has at most ${mostFlows} flows: flowId names the flow a row is of, not the row`)
  return no
}

export const readSnapshot = async (db: Db, no: number): Promise<Snapshot> => {
  const stored = await findSnapshot(db, no)
  if (!stored) throw new Error(`Snapshot ${no} is gone`)
  if (stored.format > SNAPSHOT_FORMAT)
    throw new Refusal('FROM_FUTURE', 'A newer version of this service started this run: this one cannot read what it is of. Update it')
  return Snapshot.parse(stored.document)
}
