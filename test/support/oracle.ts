import assert from 'node:assert/strict'
import {parse} from 'csv-parse/sync'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {type Org, readLog} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

/** An ended run of one flow. `rows`: the rows of the file. `module`: where it writes, by default Accounts. */
type EndedImport = {org: Org; path: string; run: any; rows: number; module?: string}

/** Asserts the invariants after any run of one flow. Returns its log, the final entry of each row and the number of rows by outcome. */
export const assertAccounted = async ({db}: TestDeployment, {org, path, run, rows, module = 'Accounts'}: EndedImport) => {
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  assert.deepEqual(
    log.map(({seq}) => seq),
    Array.from(log, (_, at) => at + 1),
    'the log has no gap',
  )
  const finals = finalsOf(log)
  const {from = 1, to = rows} = run.rows ?? {}
  if (!run.stop) assert.equal(finals.size, to - from + 1, 'every row has its end')
  assertAttempts(log)
  const outcomes = countBy([...finals.values()], ({outcome}) => outcome)
  const counted = Object.fromEntries(Object.entries(run.counts[module]).filter(([, count]) => count))
  assert.deepEqual(counted, outcomes, 'the run counts what the log says')
  await assertClosed(db, run)
  await assertResults(org, path, run, finals, rows)
  return {log, finals, outcomes}
}

/**
 * Returns the final entry of each row: an entry of the highest attempt. Within an attempt, an answer replaces `unanswered`, and a later answer
 * replaces an earlier one. Outcomes that do not end a row, such as `lookup`, are ignored.
 */
export const finalsOf = (log: any[]) => {
  const finals = new Map<number, any>()
  for (const entry of log) {
    const before = finals.get(entry.rowNumber)
    const replaces = entry.attempt === before?.attempt && (before.outcome === 'unanswered' || entry.outcome !== 'unanswered')
    const wins = !before || entry.attempt > before.attempt || replaces
    if (entry.phase === 'write' && !['made_after_no_answer', 'would_ask', 'lookup'].includes(entry.outcome) && wins) {
      finals.set(entry.rowNumber, entry)
    }
  }
  return finals
}

/** Asserts that the attempts of a row are 1, 2, 3 …; attempt 0 comes first if the row was settled without a call. */
const assertAttempts = (log: any[]) => {
  for (const [key, entries] of Map.groupBy(log, ({rowKey}) => rowKey)) {
    const attempts = [...new Set(entries.map(({attempt}) => attempt))].sort((a, b) => a - b)
    const first = attempts[0] === 0 ? 0 : 1
    assert.deepEqual(
      attempts,
      attempts.map((_, at) => at + first),
      `attempts of ${key} have no gap`,
    )
  }
}

/** Asserts that an ended run has no batch in flight, no admissions and no cursor, and that the rows counted in its head equal `rowsWritten`. */
const assertClosed = async (db: TestDeployment['db'], run: any) => {
  const left = await db.one(sql.type(z.object({sends: z.number(), admissions: z.number(), cursors: z.number(), counted: z.number()}))`
    select (select count(*) from sends where run_no = r.run_no) as sends, (select count(*) from admissions where run_no = r.run_no) + (select count(*) from admitted_blocks where run_no = r.run_no) as admissions,
      (select count(*) from run_cursors where run_no = r.run_no) as cursors, h.counted
    from runs r join run_heads h using (run_no) where id = ${run.id}`)
  assert.deepEqual({sends: left.sends, admissions: left.admissions, cursors: left.cursors}, {sends: 0, admissions: 0, cursors: 0})
  assert.equal(left.counted, run.rowsWritten)
}

const RESULT: Record<string, string> = {
  created: 'Written',
  updated: 'Written',
  refused: 'Failed',
  failed: 'Failed',
  unanswered: 'No answer',
  skipped: 'Skipped',
  inherited: 'Written before',
}

const assertResults = async (org: Org, path: string, run: any, finals: Map<number, any>, rows: number) => {
  const answer = await org.call('GET', `${path}/results.csv?run=${run.id}`)
  assert.equal(answer.status, 200)
  const [header, ...lines] = parse(answer.text, {relax_column_count: true}) as string[][]
  assert.equal(lines.length, rows, 'one line a row')
  const at = header!.indexOf('Result')
  for (const [index, line] of lines.entries()) {
    const final = finals.get(index + 1)
    assert.equal(line[at], final ? RESULT[final.outcome] : '', `result of row ${index + 1}`)
    assert.equal(line[at + 1], final?.recordId ?? '', `record of row ${index + 1}`)
  }
}

/**
 * Asserts the invariants of a retry chain. `runs`: the runs in order, each of which satisfies its own invariants. Each row has a final outcome,
 * unless the last run was stopped. A row has at most one created record, and a record has one row. Returns the final entries and the number of
 * rows by outcome.
 */
export const assertChain = async (here: TestDeployment, {org, path, runs, rows}: Omit<EndedImport, 'run'> & {runs: any[]}) => {
  const finals = new Map<number, any>()
  const records = new Map<number, Set<string>>()
  for (const run of runs) {
    const {finals: own, log} = await assertAccounted(here, {org, path, run, rows})
    for (const [number, final] of own) finals.set(number, final)
    assert.equal(run.rowsWritten, countKept(log), 'the run counts the rows it wrote, and those nobody answered for')
    for (const {rowNumber, recordId, outcome} of log)
      if (['created', 'inherited'].includes(outcome)) records.set(rowNumber, (records.get(rowNumber) ?? new Set()).add(recordId))
  }
  if (!runs.at(-1).stop) assert.equal(finals.size, rows, 'every row has its end')
  for (const [number, ids] of records) assert.equal(ids.size, 1, `row ${number} has one record`)
  const made = [...records.values()].flatMap(ids => [...ids])
  assert.equal(new Set(made).size, made.length, 'a record has one row')
  return {finals, outcomes: countBy([...finals.values()], ({outcome}) => outcome)}
}

/** Counts the rows that a run pays for: written, or sent and unanswered. A claimed row was paid for when it was sent. */
const countKept = (log: any[]) => {
  const isKept = ({outcome, code, attempt}: any) =>
    outcome === 'unanswered' ? attempt > 0 : ['created', 'updated'].includes(outcome) && code !== 'MADE_EARLIER'
  return [...Map.groupBy(log, ({rowKey, module}) => `${module} ${rowKey}`).values()].filter(entries => entries.some(isKept)).length
}

export const countBy = <T>(items: T[], of: (item: T) => string): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(items, of)].map(([name, group]) => [name, group.length]))

/** Asserts that the CRM has each row once: every created record exists, and no number occurs twice. `extra`: other records with the prefix. */
export const assertOnce = (crm: TestDeployment['crm'], prefix: string, finals: Map<number, any>, extra = 0) => {
  const mine = crm.records('example', 'Accounts').filter(record => String(record.Account_Number).startsWith(prefix))
  assert.equal(new Set(mine.map(record => record.Account_Number)).size, mine.length, 'no number twice')
  const ids = new Set(mine.map(({id}) => id))
  const made = [...finals.values()].filter(({outcome}) => outcome === 'created' || outcome === 'inherited')
  for (const {recordId} of made) assert.ok(ids.has(recordId), `record ${recordId} exists`)
  assert.equal(mine.length, made.length + extra, 'as many records as rows created')
}
