import {existsSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import test from 'ava'

/** Known traps of import engines, with the tests that cover each: a file, and a title or a part of it as in the source. */
const traps: Record<string, [file: string, title: string][]> = {
  'a share lock, then an update of the same row': [
    ['test/sql/ledger.test.ts', 'eight batches in flight and a thousand settlements cause no deadlock, no gap and no wrong count'],
  ],
  'a closed gate whose statement still commits its other parts': [
    ['test/sql/ledger.test.ts', 'T1 changes nothing under a moved fence, a stop, an expired lease or a full row limit'],
    ['test/sql/ledger.test.ts', 'T2 changes nothing under an expired lease, a moved fence, or for a missing batch'],
  ],
  'a settlement repeated after a commit without an answer': [
    ['test/workers/engine/settle/settler.test.ts', 'every row is settled once when the connection is lost'],
    ['test/workers/import-wire.test.ts', 'every row is sent, written and logged once when the connection to Postgres loses'],
    ['test/workers/import-wire.test.ts', 'an intent that is committed while its statement is repeated is kept once'],
  ],
  'log numbers from a sequence': [['test/sql/ledger.test.ts', 'a reader beside four writers sees every log entry once and in order']],
  'a run stopped with batches in flight': [
    ['test/workers/import-ends.test.ts', 'refused rows free room: a run writes exactly as many rows as it may'],
    ['test/sql/ledger.test.ts', 'twelve writers never exceed the row limit, and the count equals the admitted rows'],
  ],
  'a released row that was refused after an unanswered create': [
    ['test/workers/import-ends.test.ts', 'a row refused after an unanswered attempt stays counted, and its results say that it may exist'],
  ],
  "a new owner that searches while the CRM still processes the old one's request": [
    [
      'test/workers/import-unanswered-creates-kills.test.ts',
      "a successor waits for a dead worker's request that the CRM is still processing",
    ],
    [
      'test/workers/import-takeovers.test.ts',
      "a dead worker's request that the CRM processes after its successor's request creates no second record",
    ],
  ],
  'a request sent late, after a sleep between intent and send': [
    ['test/workers/import-takeovers.test.ts', 'a worker that sleeps between intent and request sends nothing when it wakes'],
    ['test/workers/import-late.test.ts', 'a batch whose access token arrives too late is put back, and sent once'],
  ],
  'a sleep inside a transaction that locks the run head': [
    ['test/sql/head.test.ts', 'an owner that sleeps while it locks the run head loses the lock after a short time'],
  ],
  'a lost create matched as an existing record': [
    [
      'test/workers/import-takeovers.test.ts',
      'a create lost with its worker is not matched as an existing record: its row is created, not skipped',
    ],
    [
      'test/workers/import-chains.test.ts',
      'a record of a lost create is not treated as a match: with onOne skip its row is created, not skipped',
    ],
  ],
  'two equal rows of which one is lost': [
    ['test/workers/import-unanswered-creates.test.ts', 'equal rows create as many records as rows when one of their batches is lost'],
    ['test/workers/import-chains.test.ts', 'a lost create without a unique field is found again, even if another row is equal'],
  ],
  'two rows of one unique value in two batches': [
    ['test/workers/import-order.test.ts', 'the first row creates the record and the last one updates it'],
    ['test/workers/import-order.test.ts', 'rows with the same unique value keep their order without matching'],
  ],
  'matches that differ by case or blanks, fifty-one values, quotes, more hits than a page': [
    ['test/workers/import-order.test.ts', 'spellings of one value match one record, in the file and in the CRM'],
    ['test/workers/import-order.test.ts', "a record is found by the CRM's duplicate refusal if the CRM's queries are case-sensitive"],
    ['test/workers/import-order.test.ts', 'values with quotes, backslashes, percent signs and other scripts match exactly'],
    ['test/workers/import-order.test.ts', 'records are all found when a file has more distinct values than one query takes'],
    ['test/shared/crm/coql.test.ts', 'more than a page is paged through'],
  ],
  'two flows that write one module from one row': [
    [
      'test/workers/import-flows.test.ts',
      'two flows that write one module from one row write two plan rows, and the results show both records',
    ],
  ],
  'cleaning that renumbers rows': [
    [
      'test/workers/import-chains.test.ts',
      'a retry is refused if the file or its reading changed, while changed cleaning keeps the row numbers',
    ],
  ],
  'an expression that asks for the time': [
    ['test/workers/import-expressions.test.ts', 'sends every row as before the kill, because clock and random values belong to the run'],
  ],
  'fresh tables without statistics': [
    ['test/sql/statistics.test.ts', 'a table is analysed while Postgres estimates few rows for it, and not after the estimate has grown'],
    ['test/workers/engine/settle/settler.test.ts', 'a slow ANALYZE delays no settlement'],
  ],
  'a job delivered twice, or outlived by its run': [
    ['test/workers/import-ends.test.ts', 'a job delivered twice finds the run held: one owner, one fence'],
    [
      'test/workers/import-kills.test.ts',
      'a worker that sleeps past its lease finds its run taken over when it wakes, and changes nothing',
    ],
  ],
  'a slot granted before its call has ended, and slots of dead processes': [
    ['test/workers/budget.test.ts', 'a slot that is reclaimed is granted to another run only when its call has ended'],
    ['test/workers/budget.test.ts', 'the slots of a dead process are granted to others once its share expires'],
  ],
  'a small run behind a large one': [['test/workers/budget.test.ts', 'a run of fifty rows beside a large run finishes quickly']],
  'a file of results that fails after its first byte': [
    ['test/api/run-results.test.ts', 'an unreadable row gives an error, however late it comes'],
  ],
  'records archived to storage while they are read': [
    [
      'test/workers/archive.test.ts',
      'readers that page through a log while it is archived, with three storage failures, see each entry once',
    ],
    ['test/workers/archive-kills.test.ts', 'is archived by the next worker, with nothing missing or double'],
  ],
  'memory that grows with the rows': [
    ['test/workers/import-wide.test.ts', 'rows of a megabyte are sent before their batch is full'],
    ['test/bench/memory.ts', 'memory1mVs100k'],
    ['test/workers/import-lookups.test.ts', 'each lookup value is queried once, even if the run has more values than it keeps in memory'],
    [
      'test/workers/engine/match/unsettled-rows.test.ts',
      'the unsettled entries of the rows are read chunk by chunk and page by page, each once',
    ],
  ],
}

const root = fileURLToPath(new URL('../..', import.meta.url))

test('each of the twenty-three traps has a test, under a title that exists in its file', t => {
  t.is(Object.keys(traps).length, 23)
  for (const [trap, tests] of Object.entries(traps))
    for (const [file, title] of tests) {
      t.true(existsSync(root + file), `${trap}: ${file}`)
      t.true(readFileSync(root + file, 'utf8').includes(title), `${trap}: ${file}: ${title}`)
    }
})
