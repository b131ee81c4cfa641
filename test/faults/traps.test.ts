import {existsSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import test from 'ava'

/** The traps that engines like this one fall into, and where each is laid out: by file, a title as it stands in its source. */
const traps: Record<string, [file: string, title: string][]> = {
  'a share lock, then an update of the same row': [
    ['test/sql/ledger.test.ts', 'eight batches in flight and a thousand settlements: no deadlock, no gap, right counts'],
  ],
  'a gate that is shut, and the other parts of its statement committed all the same': [
    ['test/sql/ledger.test.ts', 'T1 changes nothing under a moved fence, a stop, an expired lease or for want of room'],
    ['test/sql/ledger.test.ts', 'T2 changes nothing under an expired lease, a moved fence, or for a batch that is not there'],
  ],
  'a settlement said again after a commit nobody heard of': [
    ['test/workers/engine/settler.test.ts', 'the statement was committed: every row is settled once'],
    ['test/workers/import-wire.test.ts', 'every row is sent once, written once and logged once'],
    ['test/workers/import-wire.test.ts', 'an intent that is committed while it is asked for again is kept once'],
  ],
  'log numbers from a sequence': [['test/sql/ledger.test.ts', 'a reader beside four writers sees every entry, in order, once']],
  'a stop decided with batches in flight': [
    ['test/workers/import-ends.test.ts', 'refused rows make room: a run writes exactly the rows it may, and not one more'],
    ['test/sql/ledger.test.ts', 'twelve writers never pass the limit, and what is counted is what was admitted'],
  ],
  'a row released that was refused after a silence': [
    ['test/workers/import-ends.test.ts', 'a row refused after a silence stays counted, and its results say that it may exist'],
  ],
  "a new owner that looks while the old one's request is still worked on": [
    ['test/workers/import-silences-kills.test.ts', "a dead worker's request that the CRM is still at work on is waited for"],
    ['test/workers/import-takeovers.test.ts', "a dead worker's request that the CRM works on after its successor's makes no second record"],
  ],
  'a request that leaves late, after a sleep between intent and send': [
    ['test/workers/import-takeovers.test.ts', 'a worker that falls asleep between intent and request sends nothing when it wakes'],
    ['test/workers/import-late.test.ts', 'a batch whose access comes too late is put back, and sent once'],
  ],
  'a sleep inside a transaction that holds the head': [
    ['test/sql/head.test.ts', 'an owner that falls asleep while it holds the head does not hold it for long'],
  ],
  'a lost create matched again as a record that was there': [
    [
      'test/workers/import-takeovers.test.ts',
      "a create lost with its worker is never matched as another's record: it is created, not skipped",
    ],
    ['test/workers/import-chains.test.ts', 'a lost create is not taken for a match: onOne skip makes it created, not skipped'],
  ],
  'two equal rows, and one of them lost': [
    ['test/workers/import-silences.test.ts', 'rows alike, and one batch of them lost: as many records as rows'],
    ['test/workers/import-chains.test.ts', 'without a unique field the record of a lost create is found, though another row is equal'],
  ],
  'two rows of one unique value in two batches': [
    ['test/workers/import-order.test.ts', 'the first row makes the record and the last one updates it'],
    ['test/workers/import-order.test.ts', 'without a match the unique value alone keeps the rows in order'],
  ],
  'matches that differ by case or blanks, fifty-one values, quotes, more hits than a page': [
    ['test/workers/import-order.test.ts', 'spellings of one value are one record, in the file and in the CRM'],
    ['test/workers/import-order.test.ts', 'a CRM that minds case in its queries finds the record by its own refusal'],
    ['test/workers/import-order.test.ts', 'quotes, backslashes, percent signs and other scripts are values like any other'],
    ['test/workers/import-order.test.ts', 'more distinct values than one query takes are all found'],
    ['test/shared/crm/coql.test.ts', 'more than a page is paged through'],
  ],
  'two flows that write one module from one row': [
    ['test/workers/import-flows.test.ts', 'two flows that write one module from one row: two plan rows, and both records in the results'],
  ],
  'cleaning that renumbers rows': [
    [
      'test/workers/import-chains.test.ts',
      'the file and how it is read stay those of the chain; cleaning may change and renumbers nothing',
    ],
  ],
  'an expression that asks for the time': [
    ['test/workers/import-expressions.test.ts', "sends every row as it would have been sent before: clock and chance are the run's"],
  ],
  'fresh tables without statistics': [
    ['test/sql/statistics.test.ts', 'tables are analysed while Postgres believes them small, and not once they are known to hold more'],
    ['test/workers/engine/settler.test.ts', 'statistics that take their time hold no settlement up'],
  ],
  'a job delivered twice, or outlived by its run': [
    ['test/workers/import-ends.test.ts', 'a job delivered twice finds the run held: one owner, one fence'],
    ['test/workers/import-kills.test.ts', 'a worker that sleeps past its lease wakes to find the run taken, and changes nothing'],
  ],
  'a slot given out before its call has ended, and those of the dead': [
    ['test/workers/budget.test.ts', 'a slot taken back is somebody else’s only when its call has ended'],
    ['test/workers/budget.test.ts', 'the share of a process that died is given out within its expiry'],
  ],
  'a small run behind a large one': [['test/workers/budget.test.ts', 'a run of fifty rows beside a large one is done quickly']],
  'a file of results that fails after its first byte': [
    ['test/api/results.test.ts', 'a row that cannot be read is a refusal, however late it comes'],
  ],
  'records that move to storage under their readers': [
    [
      'test/workers/archive.test.ts',
      'readers that page on while a run is moved, with a storage that fails three times, see each entry once',
    ],
    ['test/workers/archive-kills.test.ts', 'is followed by another, and nothing is missing or double'],
  ],
  'memory that grows with the rows': [
    ['test/workers/import-wide.test.ts', 'rows of a megabyte do not wait in memory for a batch to be full'],
    ['test/bench/memory.ts', 'memory1mVs100k'],
    ['test/workers/import-lookups.test.ts', 'more values than are kept in memory: each is asked for once all the same'],
    ['test/workers/engine/questions.test.ts', 'what is open of the rows is found chunk by chunk, page by page, each once'],
  ],
}

const root = fileURLToPath(new URL('../..', import.meta.url))

test('each of the twenty-three has its test, under a title that stands there', t => {
  t.is(Object.keys(traps).length, 23)
  for (const [trap, tests] of Object.entries(traps))
    for (const [file, title] of tests) {
      t.true(existsSync(root + file), `${trap}: ${file}`)
      t.true(readFileSync(root + file, 'utf8').includes(title), `${trap}: ${file}: ${title}`)
    }
})
