import {z} from 'zod'
import type {Db, Tx} from '../../sql/database.ts'
import {listNames, numberName} from '../../sql/external-runs.ts'
import {findSnapshot} from '../../sql/run-snapshots.ts'
import type {Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {SNAPSHOT_FORMAT, Snapshot} from '../mapping/flows/snapshot.ts'

/** The names of flows and modules by their numbers in a run's log and counts. */
export type RunNames = {flows: {no: number; id: string}[]; modules: {no: number; apiName: string}[]}

/** `unread`: why the snapshot cannot be parsed. The names are read nevertheless. */
export type ReadRun = {snapshot: Snapshot | null; unread?: Refusal; names: RunNames}

/** An external run has names, but no snapshot. */
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

/** Returns the names in a snapshot that this build cannot parse. Returns no names if the snapshot stores them in an unknown form. */
const namesIn = (document: unknown): RunNames => {
  const {success, data} = Named.safeParse(document)
  return success ? namesOf(data) : {flows: [], modules: []}
}

const readNames = async (db: Db, run: number): Promise<RunNames> => {
  const names = await listNames(db, run)
  return {
    flows: names.filter(({kind}) => kind === 'flow').map(({no, name}) => ({no, id: name})),
    modules: names.filter(({kind}) => kind === 'module').map(({no, name}) => ({no, apiName: name})),
  }
}

const mostFlows = 1_000

/**
 * Returns the number of a flow in the run, assigned at its first use; null for null. Throws INVALID beyond 1,000 flows, because an engine
 * then probably sends one flow per row. The caller must have locked the run.
 */
export const numberFlow = async (tx: Tx, {run, flow}: {run: number; flow: string | null}): Promise<number | null> => {
  if (flow === null) return null
  const no = await numberName(tx, {run, kind: 'flow', name: flow})
  if (no > mostFlows)
    throw new Refusal('INVALID', `A run has at most ${mostFlows} flows. Send the id of the row's flow as flowId, not an id of the row`)
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

/**
 * Parses a snapshot. Returns `FROM_FUTURE` if a newer build wrote the snapshot. Returns `UNREADABLE` if the format is known but the parse
 * fails, which is a bug of this service.
 */
const parseStored = ({format, document}: {format: number; document: unknown}): Snapshot | Refusal => {
  if (format > SNAPSHOT_FORMAT)
    return new Refusal(
      'FROM_FUTURE',
      'A newer version of this service started this run, and this version cannot read it. Update the service',
    )
  const {success, data} = Snapshot.safeParse(document)
  return success
    ? data
    : new Refusal(
        'UNREADABLE',
        'The settings this run was started with can no longer be read. Its log is still available: import only the rows that it does not list as written',
      )
}
