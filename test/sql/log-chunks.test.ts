import test from 'ava'
import {countPlannedPatches, HOW} from '../../sql/chain-rows.ts'
import {sql} from '../../sql/database.ts'
import {type LogRow, settle} from '../../sql/ledger.ts'
import {blockOf, chunksOf, sortByBlock} from '../../sql/log-chunks.ts'
import {
  listEnds,
  listEndsOfKeys,
  listFinals,
  listLateUpdates,
  listLog,
  listLoggedRows,
  listNotedFields,
  listRowLog,
  listSentBefore,
  outcomeNo,
  PHASES,
  readLogPage,
} from '../../sql/run-log.ts'
import {beginRun, created, openLedger, settlement} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('log-chunks')
})
test.after.always(() => here?.close())

test('entries are sorted by block, and entries of one block keep their order', t => {
  const log = [created(2_000), created(5, {attempt: 1}), created(5, {attempt: 2}), created(1_024)]
  t.deepEqual(
    sortByBlock(log).map(({key, attempt}) => `${key} ${attempt}`),
    ['f.5 1', 'f.5 2', 'f.2000 1', 'f.1024 1'],
  )
  const external = [...log, created(0, {number: null, key: 'x'})]
  t.deepEqual(sortByBlock(external), external)
  t.deepEqual([null, 0, 1_023, 1_024].map(blockOf), [-1, 0, 0, 1])
})

test('a chunk holds entries of one block, at most a thousand', t => {
  t.deepEqual(chunksOf([]), [])
  t.deepEqual(chunksOf([1, 2, 1_023, 1_024, 5_000].map(number => created(number))), [
    {first: 1, last: 3, block: 0},
    {first: 4, last: 4, block: 1},
    {first: 5, last: 5, block: 4},
  ])
  const many = Array.from({length: 2_100}, () => created(7))
  t.deepEqual(chunksOf(many), [
    {first: 1, last: 1_000, block: 0},
    {first: 1_001, last: 2_000, block: 0},
    {first: 2_001, last: 2_100, block: 0},
  ])
})

/** Entries of three settlements: a row sent twice, a refusal with quotes, patches, a lookup, an unanswered update, rows far apart. */
const settlements: LogRow[][] = [
  [created(3_000), ...Array.from({length: 40}, (_, n) => created(n + 1)), created(41, {outcome: outcomeNo('unanswered'), recordId: null})],
  [
    created(41, {attempt: 2}),
    created(42, {outcome: outcomeNo('refused'), recordId: null, code: 'INVALID_DATA', message: 'Bad "Email", {a\\b}, NULL'}),
    created(43, {phase: PHASES.indexOf('lookup'), target: 'Owner', outcome: outcomeNo('lookup')}),
    created(43, {phase: PHASES.indexOf('patch'), target: 'Parent', outcome: outcomeNo('updated')}),
    created(43, {flow: 2, module: 2}),
  ],
  [created(44, {outcome: outcomeNo('unanswered'), recordId: 'r9'}), created(1_023), created(1_024), created(9, {number: null, key: 'ext'})],
]

/** Begins a run and settles these entries. `packs`: for each settlement, whether its entries are stored packed. */
const beginFilled = async (packs: boolean[]) => {
  const begun = await beginRun(here)
  for (const [at, log] of settlements.entries()) {
    await here.db.query(sql.unsafe`update run_heads set is_packed = ${packs[at]!} where run_no = ${begun.run}`)
    await settle(here.hot, settlement(begun, at + 1, {log}))
  }
  return begun.run
}

const readWhole = async (run: number) => {
  const {db, hot} = here
  const untimed = <T extends {at: string}>(entries: readonly T[] | null) => entries?.map(({at: _, ...entry}) => entry)
  const byNumber = <T extends {number: number}>(rows: readonly T[]) => rows.toSorted((a, b) => a.number - b.number)
  const numbers = [1, 41, 42, 43, 44, 1_024, 3_000]
  return {
    pages: untimed(await listLog(db, {run, after: 0, limit: 1_000})),
    page: untimed(await listLog(db, {run, after: 38, limit: 9})),
    hotPage: untimed(await readLogPage(hot, {run, after: 38, limit: 9})),
    row: untimed(await listRowLog(db, {run, flows: [1, 2], row: 43})),
    ends: byNumber(await listEnds(db, {run, flow: 1, numbers})),
    ofKeys: await listEndsOfKeys(db, {run, module: 1, keys: ['ext', 'f.41']}),
    late: (await listLateUpdates(db, {run, chains: [], seconds: 60})).map(({recordId, rowKey}) => `${rowKey} ${recordId}`),
    logged: (await listLoggedRows(db, {run, flow: 1, after: 1_022})).toSorted((a, b) => a - b),
    sent: byNumber(await listSentBefore(db, {run, flow: 1, after: 40, phase: 'write'})),
    noted: await listNotedFields(db, {run, flow: 1, numbers, phase: 'lookup'}),
    finals: await listFinals(hot, {run, flows: [1, 2], from: 40, to: 1_024, seq: 1_000}),
    early: await listFinals(hot, {run, flows: [1, 2], from: 40, to: 1_024, seq: 42}),
  }
}

test('packed entries, entries in rows, and both in one run read the same', async t => {
  const [rows, packed, mixed] = [
    await readWhole(await beginFilled([false, false, false])),
    await readWhole(await beginFilled([true, true, true])),
    await readWhole(await beginFilled([false, true, false])),
  ]
  t.is(rows.pages!.length, settlements.flat().length)
  t.deepEqual(
    rows.pages!.map(({seq}) => seq),
    settlements.flat().map((_, at) => at + 1),
  )
  t.deepEqual([rows.page!.length, rows.late, rows.logged], [9, ['f.44 r9'], [1_023, 1_024, 3_000]])
  t.like(rows.finals!.find(({number}) => number === 42)!, {code: 'INVALID_DATA', message: 'Bad "Email", {a\\b}, NULL'})
  t.true(rows.early!.some(({number, outcome}) => number === 41 && outcome === outcomeNo('unanswered')))
  t.deepEqual(packed, rows)
  t.deepEqual(mixed, rows)
})

test('a run stores its entries packed if the switch was on when it began', async t => {
  const own = await openLedger(t.title)
  t.teardown(own.close)
  const countTables = async (run: number) =>
    (
      await own.hot.query(
        `select (select count(*)::int from run_log where run_no = $1) as rows, (select count(*)::int from log_batches where run_no = $1) as packs`,
        [run],
      )
    ).rows[0]
  const begin = async () => {
    const begun = await beginRun(own)
    await settle(own.hot, settlement(begun, 1, {log: [created(1), created(2)]}))
    return begun.run
  }
  t.deepEqual(await countTables(await begin()), {rows: 0, packs: 1})
  await own.hot.query(`update release_switches set is_on = false where name = 'packed ledger'`)
  t.deepEqual(await countTables(await begin()), {rows: 2, packs: 0})
})

test('planned patches are counted by flow and range of rows, without rows that the write pass counts', async t => {
  const begun = await beginRun(here)
  const patched = (number: number, more: Partial<LogRow> = {}) =>
    created(number, {phase: PHASES.indexOf('patch'), outcome: outcomeNo('planned'), ...more})
  const hows = {1: HOW.matched, 2: HOW.unchanged, 3: HOW.updated, 4: HOW.matched, 2000: HOW.matched}
  const kept = Object.entries(hows).map(([n, how]) => ({module: 1, key: `f.${n}`, recordId: `r${n}`, how, matchKey: null}))
  const skipped = patched(4, {outcome: outcomeNo('skipped')})
  const log = [created(1), patched(1), patched(1), patched(2), patched(3), skipped, patched(2_000)]
  await settle(here.hot, settlement(begun, 1, {log, kept}))
  const count = (flow: number, from: number, to: number) => countPlannedPatches(here.db, {run: begun.run, flow, from, to})
  t.deepEqual([await count(1, 1, 1_999), await count(1, 2_000, 3_999), await count(1, 2, 2_000), await count(2, 1, 3_999)], [2, 1, 2, 0])
})
