import test from 'ava'
import {describeRunState, endOfRun} from '../../api/clients/run-state.ts'
import {writeLetter} from '../../shared/notifications/letter.ts'

type Ended = {dryRun?: boolean; stop?: string; counts?: Record<string, number>; questions?: number; unchanged?: number; keptRows?: number}

/** Each case: the ended run, its label, its colour, and the end of the first sentence of its e-mail. */
const cases: [Ended, word: string, tone: string, letter: string][] = [
  [{counts: {created: 3, skipped: 1}}, 'Imported', 'good', 'is complete'],
  [{counts: {inherited: 3}}, 'Imported', 'good', 'is complete'],
  [
    {counts: {created: 1, failed: 1200, refused: 30, unanswered: 4}},
    'Imported, 1,234 need attention',
    'warning',
    'has ended, and 1234 rows need attention',
  ],
  [{counts: {updated: 1, refused: 1}}, 'Imported, 1 needs attention', 'warning', 'has ended, and 1 row needs attention'],
  [{counts: {unanswered: 1}}, 'Imported, 1 needs attention', 'warning', 'has ended, and 1 row needs attention'],
  [{counts: {skipped: 5, failed: 1}, unchanged: 5}, 'Imported, 1 needs attention', 'warning', 'has ended, and 1 row needs attention'],
  [{counts: {skipped: 5, failed: 1}, keptRows: 5}, 'Imported, 1 needs attention', 'warning', 'has ended, and 1 row needs attention'],
  [{counts: {skipped: 4}, questions: 4}, 'Needs your answer (4)', 'warning', 'needs your answer to 4 questions'],
  [{counts: {created: 2, failed: 3}, questions: 1}, 'Needs your answer (1)', 'warning', 'needs your answer to 1 question'],
  [{counts: {failed: 2, refused: 1, skipped: 9}}, 'Failed', 'bad', 'failed'],
  [{counts: {created: 2}, stop: 'ENGINE_FAILED'}, 'Failed', 'bad', 'failed'],
  [{counts: {created: 2}, stop: 'GRANT_ENDED'}, 'Stopped', 'bad', 'was stopped'],
  [{counts: {created: 2, failed: 1}, stop: 'CANCELLED'}, 'Cancelled', 'neutral', 'was cancelled'],
  [{counts: {skipped: 9}}, 'Nothing imported', 'neutral', 'has ended and wrote nothing'],
  [{counts: {}}, 'Nothing imported', 'neutral', 'has ended and wrote nothing'],
  [{dryRun: true, counts: {planned: 2}}, 'Previewed', 'good', 'is complete'],
  [{dryRun: true, counts: {planned: 2, failed: 2}}, 'Previewed, 2 need attention', 'warning', 'has ended, and 2 rows need attention'],
  [{dryRun: true, counts: {planned: 2}, stop: 'LIMIT_ROWS_PER_RUN'}, 'Previewed', 'good', 'is complete'],
  [{dryRun: true, counts: {planned: 2, skipped: 1}, questions: 1}, 'Previewed, 1 question', 'info', 'has ended with 1 question'],
  [{dryRun: true, counts: {skipped: 4}, questions: 4}, 'Previewed, 4 questions', 'info', 'has ended with 4 questions'],
  [
    {dryRun: true, counts: {planned: 2, failed: 1}, questions: 4},
    'Previewed, 1 needs attention',
    'warning',
    'has ended, and 1 row needs attention',
  ],
  [{dryRun: true, counts: {failed: 2}}, 'All rows would fail', 'bad', 'failed'],
]

const runOf = ({dryRun = false, stop, counts = {}, questions = 0, unchanged = 0, keptRows = 0}: Ended) => ({
  state: 'ended',
  dryRun,
  stop: stop ? {stopped: stop} : null,
  counts: {Leads: counts},
  questions,
  unchanged,
  keptRows,
})
const count = (rows: number) => rows.toLocaleString('en-US')

test('an ended run says what became of its rows, and is green only if every row is done', t => {
  for (const [ended, word, tone] of cases) t.deepEqual(describeRunState(runOf(ended), count), {word, tone}, JSON.stringify(ended))
  t.is(endOfRun({...runOf({}), counts: {Leads: {failed: 1}, Deals: {created: 1}}}).key, 'attention', 'over all modules')
})

test('a run that deleted records says so, also in part', t => {
  const run = {...runOf({counts: {updated: 3}}), deleted: 3}
  t.like(describeRunState(run, count), {word: 'Deleted', tone: 'good'})
  t.is(describeRunState({...run, counts: {Leads: {updated: 2, refused: 1}}}, count).word, 'Deleted, 1 needs attention')
  t.is(describeRunState({...run, dryRun: true}, count).word, 'Previewed')
  t.is(describeRunState({...run, undoOf: 'run_1'}, count).word, 'Undone')
  const none = {...runOf({counts: {skipped: 3}}), deletes: true, deleted: 0}
  t.like(describeRunState(none, count), {word: 'Nothing deleted', tone: 'neutral'})
  t.is(describeRunState({...none, dryRun: true}, count).word, 'Nothing to delete')
})

test('a run that only filled in fields of skipped rows has imported something', t => {
  const run = {...runOf({counts: {skipped: 3}}), rowsWritten: 2}
  t.like(describeRunState(run, count), {word: 'Imported', tone: 'good'})
  const about = {org: 'org_1', dryRun: false, stop: null, counts: {Leads: {skipped: 3}}, rowsWritten: 2}
  t.regex(
    writeLetter({orgName: 'Org', body: {type: 'run.ended', timestamp: '', data: about}, publicUrl: 'http://x'}).subject,
    /is complete/,
  )
})

test('answered questions are no longer open, and the rest are counted', t => {
  const run = (questionsAnswered: number) => describeRunState({...runOf({counts: {skipped: 4}, questions: 4}), questionsAnswered}, count)
  t.deepEqual(run(1), {word: 'Needs your answer (3)', tone: 'warning'})
  t.deepEqual(run(4), {word: 'Questions answered', tone: 'info'})
})

test('a retried run has no open questions, because the retry has them', t => {
  const run = {...runOf({counts: {created: 2, skipped: 4}, questions: 4}), retriedBy: 'run_2'}
  t.deepEqual(describeRunState(run, count), {word: 'Imported', tone: 'good'})
  t.is(describeRunState({...run, questionsAnswered: 4}, count).word, 'Imported')
  t.is(describeRunState({...run, counts: {Leads: {created: 2, failed: 1}}}, count).word, 'Imported, 1 needs attention')
})

test('the e-mail about a run that deleted records says so', t => {
  const about = {org: 'org_1', dryRun: false, state: 'done', stop: null, counts: {Leads: {updated: 3, skipped: 1}}, deleted: 3}
  const {subject, text} = writeLetter({orgName: 'Org', body: {type: 'run.ended', timestamp: '', data: about}, publicUrl: 'http://x'})
  t.is(subject, 'An import is complete: 1 skipped, 3 deleted')
  t.true(text.includes('Leads: 1 skipped, 3 deleted'))
})

test('the e-mail about an ended run agrees with the widget and the command line', t => {
  for (const [ended, , , letter] of cases) {
    const {dryRun, stop, counts, questions, unchanged, keptRows} = runOf(ended)
    const data = {
      org: 'org_1',
      dryRun,
      state: stop ? 'stopped' : 'done',
      stop: stop?.stopped ?? null,
      counts,
      questions,
      unchanged,
      keptRows,
    }
    const {subject} = writeLetter({orgName: 'Org', body: {type: 'run.ended', timestamp: '', data}, publicUrl: 'http://x'})
    t.true(subject.startsWith(`${dryRun ? 'A dry run' : 'An import'} ${letter}: `), `${JSON.stringify(ended)}: ${subject}`)
  }
})

test('an active run shows its state, and never that of its end', t => {
  const active = (state: string, stop: string | null = null) =>
    describeRunState({...runOf({counts: {failed: 3}}), state, stop: stop ? {stopped: stop} : null}, count)
  t.deepEqual(active('writing'), {word: 'Running', tone: 'info'})
  t.deepEqual(active('paused'), {word: 'Paused', tone: 'warning'})
  t.deepEqual(active('queued'), {word: 'Queued', tone: 'info'})
  t.deepEqual(describeRunState({...runOf({}), state: 'paused', pause: {code: 'GUARD'}}, count), {word: 'Held', tone: 'warning'})
  t.deepEqual(active('writing', 'CANCELLED'), {word: 'Stopping', tone: 'warning'})
})
