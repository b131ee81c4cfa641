import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {readConfig} from '../../shared/config.ts'
import type {Snapshot} from '../../shared/mapping/flows/snapshot.ts'
import type {FoundRun} from '../../shared/runs/find.ts'
import {openStorage} from '../../shared/storage/storage.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {sql} from '../../sql/database.ts'
import {insertSnapshot} from '../../sql/run-snapshots.ts'
import {archiveAll} from '../../workers/archive.ts'
import {beginRun, openLedger} from '../support/running.ts'

export const fileKey = 'org_bench/imp_bench/src_bench'

/** Creates a database and a storage with one ended run, as the engine leaves it. Every tenth row has failed. */
export const openFilledRun = async (label: string, rows: number) => {
  const ledger = await openLedger(label)
  const directory = await mkdtemp(join(tmpdir(), 'lading-bench-'))
  const tools = {...ledger, config: readConfig(), storage: openStorage({directory}), log: openLog('bench', 'warn')}
  const close = async () => {
    await ledger.close()
    await rm(directory, {recursive: true})
  }
  try {
    const found = await fill(tools, rows)
    /** Moves the run's records to storage, as the `archive` worker does. Then does what autovacuum does within a minute. */
    const archive = async () => {
      await archiveAll({...tools, drain: new AbortController().signal})
      // Without it, the planner looks through the deleted entries at the end of the index each time a page near the end is read.
      await tools.hot.query('vacuum run_log')
    }
    return {tools, found, archive, close}
  } catch (error) {
    await close()
    throw error
  }
}
export type FilledRun = Awaited<ReturnType<typeof openFilledRun>>

type FillDeps = Pick<Awaited<ReturnType<typeof openLedger>>, 'db'>

const fill = async ({db}: FillDeps, rows: number): Promise<FoundRun> => {
  const snapshot = snapshotOf(rows)
  const {run, id} = await beginRun({db})
  const no = await db.transaction(tx =>
    insertSnapshot(tx, {format: 1, document: {...snapshot, flows: [{...snapshot.flows[0], flow: storedFlow}]}}),
  )
  await db.query(sql.unsafe`
    insert into run_log (run_no, seq, row_key, flow_no, row_number, module_no, phase, attempt, record_id, outcome, code, message)
    select ${run}, n, 'f.' || n, 1, n, 1, 0, 1, case when n % 10 > 0 then '4400000' || n end, case when n % 10 > 0 then 0 else 2 end,
      case when n % 10 = 0 then 'INVALID_DATA' end, case when n % 10 = 0 then 'invalid data (Email)' end
    from generate_series(1, ${rows}) n`)
  await db.query(sql.unsafe`update run_heads set next_seq = ${rows + 1} where run_no = ${run}`)
  await db.query(sql.unsafe`update runs set state = 'ended', snapshot_no = ${no} where run_no = ${run}`)
  await db.query(sql.unsafe`analyze run_log`)
  // The run counts as active here, so that no result file is stored and each is made again.
  return {
    run: {no: run, id, dryRun: false, state: 'writing', expiredAt: null} as never,
    importId: null,
    snapshot,
    names: {flows: [], modules: []},
  }
}

const snapshotOf = (rows: number): Snapshot => ({
  connector: 'con',
  discovery: 'dis',
  takenAt: new Date(0).toISOString(),
  decidedUpTo: 0,
  lookups: [],
  libraries: [],
  context: {},
  lineage: {modules: ['Accounts'], flows: [{id: 'f', sha256: '', reader: {}}], clock: 0, onEdited: 'overwrite' as const, seed: ''},
  modules: [{no: 1, apiName: 'Accounts', label: 'Accounts', fields: []}],
  flows: [{no: 1, sourceNo: 1, moduleNo: 1, flow: {id: 'f', sourceId: 's', module: 'Accounts', fields: []} as never, searches: {}}],
  sources: [{no: 1, id: 's', label: 'S', fileKey, sha256: '', reader: {format: 'csv'}, columns: [], rows}],
})

const storedFlow = {id: 'f', sourceId: 's', module: 'Accounts', fields: [{field: 'Account_Name', mode: 'static', staticValue: 'x'}]}
