import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Readable} from 'node:stream'
import {parse} from 'csv-parse'
import {readConfig} from '../../shared/config.ts'
import type {Snapshot} from '../../shared/flows/snapshot.ts'
import {openLog} from '../../shared/log.ts'
import type {FoundRun} from '../../shared/runs/find.ts'
import {readEntries} from '../../shared/runs/log.ts'
import {makeRunFile} from '../../shared/runs/results.ts'
import {openStorage} from '../../shared/storage.ts'
import {sql} from '../../sql/database.ts'
import {insertSnapshot} from '../../sql/run-snapshots.ts'
import {archiveAll} from '../../workers/archive.ts'
import {beginRun, openLedger} from '../running.ts'
import {medianOf} from './median.ts'

const rounds = 101
const fileRounds = 5
const page = 1_000
const rows = 250_000

/**
 * What is read after a run of 250,000 rows, before its records are moved to storage and after: a log page of 1,000 at the end ÷ the
 * first; bytes of the source that results.csv is made from in a second ÷ those the bare CSV parser reads in a second.
 */
export const measureRecords = async () => {
  const ledger = await openLedger('bench_records')
  const directory = await mkdtemp(join(tmpdir(), 'lading-bench-'))
  try {
    const tools = {...ledger, config: readConfig(), storage: openStorage({directory}), log: openLog('bench', 'warn')}
    const found = await fill(tools)
    const here = {logDepthRatio: await logDepth(tools, found), resultsVsParser: await resultsVsParser(tools, found)}
    await archiveAll({...tools, drain: new AbortController().signal})
    const moved = {movedLogDepthRatio: await logDepth(tools, found), movedResultsVsParser: await resultsVsParser(tools, found)}
    return {...here, ...moved}
  } finally {
    await ledger.close()
    await rm(directory, {recursive: true})
  }
}

type Tools = Awaited<ReturnType<typeof openLedger>> & {config: ReturnType<typeof readConfig>; storage: ReturnType<typeof openStorage>}

const key = 'org_bench/imp_bench/src_bench'

const fileText = () =>
  `first,last,email,phone,city,street,zip,amount\n${Array.from(
    {length: rows},
    (_, at) =>
      `First ${at},Last ${at},person${at}@example.org,"49 30 ${100_000 + at}",City of ${at % 97},"${at % 200} Long, Street",${10_000 + at},${at}.50`,
  ).join('\n')}\n`

const snapshot: Snapshot = {
  ...{connector: 'con', discovery: 'dis', takenAt: new Date(0).toISOString(), decidedUpTo: 0, lookups: [], libraries: [], context: {}},
  lineage: {modules: ['Accounts'], flows: [{id: 'f', sha256: '', reader: {}}], clock: 0, seed: ''},
  modules: [{no: 1, apiName: 'Accounts', label: 'Accounts', fields: []}],
  flows: [{no: 1, sourceNo: 1, moduleNo: 1, flow: {id: 'f', sourceId: 's', module: 'Accounts', fields: []} as never, searches: {}}],
  sources: [{no: 1, id: 's', label: 'S', fileKey: key, sha256: '', reader: {format: 'csv'}, columns: [], rows}],
}

/** A run whose every tenth row failed, as its engine leaves it. */
const fill = async ({db, storage}: Tools): Promise<FoundRun> => {
  await storage.put(key, Readable.from([Buffer.from(fileText())]))
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
  // As if under way, so that no file is kept and each is made anew.
  return {run: {no: run, id, dryRun: false, state: 'writing'} as never, importId: null, snapshot, names: {flows: [], modules: []}}
}

const storedFlow = {id: 'f', sourceId: 's', module: 'Accounts', fields: [{field: 'Account_Name', mode: 'static', staticValue: 'x'}]}

const logDepth = async (tools: Tools, {run}: FoundRun) => {
  const at = (after: number) => timed(async () => readEntries(tools, {run: run.no, after, limit: page + 1}))
  const measured = {first: [] as number[], last: [] as number[]}
  for (let round = -5; round < rounds; round++) {
    const [first, last] = [await at(0), await at(rows - page)]
    if (round < 0) continue
    measured.first.push(first)
    measured.last.push(last)
  }
  return medianOf(measured.last) / medianOf(measured.first)
}

const resultsVsParser = async (tools: Tools, found: FoundRun) => {
  const measured = {bare: [] as number[], ours: [] as number[]}
  for (let round = 0; round <= fileRounds; round++) {
    measured.bare.push(await timed(async () => drainStream((await tools.storage.read(key)).pipe(parse({columns: false})))))
    measured.ours.push(await timed(async () => drainStream((await makeRunFile(tools, found, 'results', undefined)).body)))
  }
  return medianOf(measured.bare.slice(1)) / medianOf(measured.ours.slice(1))
}

const drainStream = async (stream: Readable) => {
  let pieces = 0
  for await (const _ of stream) pieces++
  return pieces
}

const timed = async (work: () => Promise<unknown>) => {
  const start = performance.now()
  await work()
  return performance.now() - start
}
