import {z} from 'zod'
import type {Db, Tx} from '../../sql/database.ts'
import {listNames, numberName} from '../../sql/outside-runs.ts'
import {findSnapshot} from '../../sql/run-snapshots.ts'
import type {Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {SNAPSHOT_FORMAT, Snapshot} from '../flows/snapshot.ts'

/** How a run's log and counts name its modules and flows. */
export type RunNames = {flows: {no: number; id: string}[]; modules: {no: number; apiName: string}[]}

/** `unread`: why what the run froze cannot be read here; what else is known of it is told all the same. */
export type ReadRun = {snapshot: Snapshot | null; unread?: Refusal; names: RunNames}

/** What the run froze, where the service's own engine carries it, and the names either kind of run knows. */
export const readRun = async (db: Db, run: Run): Promise<ReadRun> => {
  if (run.snapshotNo === null) return {snapshot: null, names: await readNames(db, run.no)}
  const stored = await findStored(db, run.snapshotNo)
  const read = parseStored(stored)
  if (read instanceof Refusal) return {snapshot: null, unread: read, names: namesIn(stored.document)}
  return {snapshot: read, names: namesOf(read)}
}

const namesOf = ({flows, modules}: z.output<typeof Named>): RunNames => ({
  flows: flows.map(({no, flow}) => ({no, id: flow.id})),
  modules,
})

const Named = z.object({
  flows: z.array(z.object({no: z.number(), flow: z.object({id: z.string()})})),
  modules: z.array(z.object({no: z.number(), apiName: z.string()})),
})

/** As far as a document that is not ours to read says them as ours do. */
const namesIn = (document: unknown): RunNames => {
  const {success, data} = Named.safeParse(document)
  return success ? namesOf(data) : {flows: [], modules: []}
}

/** Those an outside engine's calls have named so far. */
const readNames = async (db: Db, run: number): Promise<RunNames> => {
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
  const read = parseStored(await findStored(db, no))
  if (read instanceof Refusal) throw read
  return read
}

const findStored = async (db: Db, no: number) => {
  const stored = await findSnapshot(db, no)
  if (!stored) throw new Error(`Snapshot ${no} is gone`)
  return stored
}

/** Newer builds leave runs that this one cannot read; one of our own that cannot be read is a fault of ours. */
const parseStored = ({format, document}: {format: number; document: unknown}): Snapshot | Refusal => {
  if (format > SNAPSHOT_FORMAT)
    return new Refusal('FROM_FUTURE', 'A newer version of this service started this run: this one cannot read what it is of. Update it')
  const {success, data} = Snapshot.safeParse(document)
  return success
    ? data
    : new Refusal('UNREADABLE', 'What this run was started with cannot be read any more. Its log can, and a new run begins afresh')
}
