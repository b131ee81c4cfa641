import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test from 'ava'
import {computeOutcomes, RecordsMoved, readOutcomes} from '../../../../shared/runs/results/outcomes.ts'
import {openStorage} from '../../../../shared/storage/storage.ts'
import {openLog} from '../../../../shared/telemetry/log.ts'
import {sql} from '../../../../sql/database.ts'
import {type LogRow, settle} from '../../../../sql/ledger.ts'
import {type FinalEntry, OUTCOMES, type OutcomeName, outcomeNo, PHASES} from '../../../../sql/run-log.ts'
import {archiveAll} from '../../../../workers/archive.ts'
import {beginRun, created, openLedger, settlement} from '../../../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
let directory: string
test.before(async () => {
  here = await openLedger('outcomes')
  directory = await mkdtemp(join(tmpdir(), 'lading-outcomes-'))
})
test.after.always(async () => {
  await here?.close()
  await rm(directory, {recursive: true, force: true})
})

type LoggedOutcome = Partial<Omit<LogRow, 'outcome' | 'phase'>> & {phase?: (typeof PHASES)[number]}
const said = (outcome: OutcomeName, {phase = 'write', ...more}: LoggedOutcome = {}): LogRow =>
  created(1, {recordId: null, ...more, outcome: outcomeNo(outcome), phase: PHASES.indexOf(phase)})

const source = {no: 1, id: 's', label: 'S', fileKey: 'k', sha256: '', reader: {}, columns: [], rows: 2_500}
const flows = [{no: 1, sourceNo: 1, moduleNo: 1, flow: {} as never, searches: {}}]

/** Returns the outcomes that are read from a run with this log. */
const outcomesOf = async (log: LogRow[]) => {
  const begun = await beginRun(here)
  await settle(here.hot, settlement(begun, 1, {log}))
  const found: FinalEntry[] = []
  for await (const some of computeOutcomes(here.hot, {run: begun.run, source, flows, seq: log.length})) found.push(...some)
  return found
}

const shape = ({outcome, phase, target, recordId, disclosed}: FinalEntry) =>
  [phase ? PHASES[phase] : null, target, OUTCOMES[outcome], recordId, disclosed ? 'disclosed' : null].filter(Boolean).join(' ')

const cases: Record<string, [LogRow[], string[]]> = {
  'the highest attempt': [[said('refused', {attempt: 1}), said('created', {attempt: 2, recordId: 'r'})], ['created r']],
  'an answer after an unanswered entry': [[said('unanswered'), said('created', {recordId: 'r'})], ['created r']],
  'an answer before an unanswered entry': [[said('created', {recordId: 'r'}), said('unanswered')], ['created r']],
  'the later of two answers': [[said('created', {recordId: 'a'}), said('updated', {recordId: 'b'})], ['updated b']],
  'a later unanswered attempt': [[said('refused', {attempt: 1}), said('unanswered', {attempt: 2})], ['unanswered disclosed']],
  'an unanswered create': [[said('unanswered')], ['unanswered disclosed']],
  'an unanswered update': [[said('unanswered', {recordId: 'r'})], ['unanswered r']],
  'a refusal after an unanswered create': [[said('unanswered'), said('refused', {attempt: 2})], ['refused disclosed']],
  'a record claimed after an unanswered create': [
    [said('unanswered'), said('refused', {attempt: 2}), said('created', {attempt: 3, recordId: 'r', code: 'MADE_EARLIER'})],
    ['created r'],
  ],
  'a record created again after an unanswered create': [
    [said('unanswered'), said('created', {attempt: 2, recordId: 'r'}), said('made_after_no_answer', {attempt: 0, recordId: 'r'})],
    ['created r disclosed'],
  ],
  'a question of a dry run beside the row it skips': [
    [said('would_ask', {attempt: 0, phase: 'match', code: '2'}), said('skipped', {attempt: 0, code: 'MATCH_MANY'})],
    ['skipped', 'match would_ask'],
  ],
  'a lookup of each field, the later of two': [
    [
      said('lookup', {attempt: 0, phase: 'lookup', target: 'Account', code: 'MANY', recordId: 'x'}),
      said('lookup', {attempt: 0, phase: 'lookup', target: 'Owner', code: 'NONE'}),
      said('lookup', {attempt: 0, phase: 'lookup', target: 'Account', code: 'CHOSEN', recordId: 'y'}),
      said('created', {recordId: 'r'}),
    ],
    ['created r', 'lookup Account lookup y', 'lookup Owner lookup'],
  ],
  'a patch by its own highest attempt, which says nothing of the write': [
    [
      said('created', {recordId: 'r'}),
      said('unanswered', {phase: 'patch', target: 'Manager', attempt: 1}),
      said('updated', {phase: 'patch', target: 'Manager', attempt: 2, recordId: 'r'}),
    ],
    ['created r', 'patch Manager updated r'],
  ],
  'two rows made of one': [
    [said('created', {key: 'f.1.1', recordId: 'a'}), said('created', {key: 'f.1.2', recordId: 'b'})],
    ['created a', 'created b'],
  ],
  'entries of another flow, or of no row': [
    [said('created', {flow: 2, recordId: 'a'}), said('created', {number: null, recordId: 'b'})],
    [],
  ],
}

for (const [what, [log, wanted]] of Object.entries(cases)) {
  test(`outcomes of a row: ${what}`, async t => {
    t.deepEqual((await outcomesOf(log)).map(shape), wanted)
  })
}

test('a reading is consistent, and restarts from storage when the records are archived', async t => {
  const begun = await beginRun(here)
  const entries = Array.from({length: 2_500}, (_, at) => said('unanswered', {number: at + 1, key: `f.${at + 1}`}))
  await settle(here.hot, settlement(begun, 1, {log: entries}))
  const place = {...here, storage: openStorage({directory})}
  const reading = readOutcomes(place, {run: begun.run, source: {...source, rows: 6_000}, flows})
  t.is((await reading.next()).value!.length, 1_000)
  const answers = entries.map(entry => ({...entry, outcome: outcomeNo('created'), recordId: 'r'}))
  await settle(here.hot, settlement(begun, 2, {log: answers}))
  t.true(((await reading.next()).value as FinalEntry[]).every(entry => OUTCOMES[entry.outcome] === 'unanswered'))
  await here.db.query(sql.unsafe`update runs set state = 'ended', archived = run_no <> ${begun.run}`)
  await archiveAll({...place, log: openLog('test', 'silent'), drain: new AbortController().signal})
  // The first page may have been read before the records moved.
  await t.throwsAsync(async () => t.false((await reading.next()).done) && (await reading.next()), {instanceOf: RecordsMoved})
  const again: FinalEntry[] = []
  // A run of an external engine: its snapshot names no sources, so only the log exists.
  for await (const some of readOutcomes(place, {run: begun.run, source, flows})) again.push(...some)
  t.deepEqual(again, [])
})
