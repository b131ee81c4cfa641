import test from 'ava'
import {describeEnding} from '../../api/clients/cli/ending.ts'
import {openOutput} from '../../api/clients/cli/output.ts'
import {isInFailedFile, readFailed} from '../../api/clients/commands/logs.ts'

const out = openOutput(false, {out: process.stdout, err: process.stderr, columns: null})
const ended = {id: 'run_1', importId: 'imp_1', state: 'ended', stop: null, pause: null, dryRun: false, counts: {}, questions: 0}
const cancelled = {stopped: 'CANCELLED', message: 'The run was cancelled'}

/** Returns the lines after the heading of the next steps, without their explanations. */
const nextOf = (more: object) => {
  const lines = describeEnding(out, {...ended, ...more})
  return lines.slice(lines.indexOf('Next:') + 1).map(line => line.trim().split('  ')[0])
}

test('an unstarted run that was cancelled is followed by another run, because the API refuses to retry it', t => {
  t.deepEqual(nextOf({engine: null, stop: cancelled}), ['lading run imp_1 --watch'])
  t.true(nextOf({engine: 'worker', stop: cancelled}).includes('lading retry run_1 --watch'))
})

test('a stopped undo is continued by an undo of the same run, not taken back', t => {
  const undo = {id: 'run_2', undoOf: 'run_1'}
  t.deepEqual(nextOf({...undo, stop: cancelled}), ['lading logs run_2', 'lading undo run_1 --watch'])
  t.deepEqual(nextOf(undo), ['lading logs run_2', 'lading undo run_2 --watch'])
  t.deepEqual(nextOf({...undo, stop: {stopped: 'UNDO_EXPIRED', message: 'The values were deleted'}}), ['lading logs run_2'])
})

test('questions of a dry run and of a retried run need no answer', t => {
  const linesOf = (more: object) => describeEnding(out, {...ended, questions: 2, ...more}).join('\n')
  t.regex(linesOf({}), /2 questions need an answer/)
  t.regex(linesOf({dryRun: true, questionsAnswered: 1}), /^A run would ask 1 question\.$/m)
  for (const more of [
    {dryRun: true},
    {retriedBy: 'run_2'},
    {dryRun: true, questionsAnswered: 2},
    {retriedBy: 'run_2', questionsAnswered: 2},
  ])
    t.notRegex(linesOf(more), /retry the run/i, JSON.stringify(more))
})

test('a dry run that reached the row limit or left links empty ends with the advice for a dry run', t => {
  const run = {
    id: 'run_1',
    state: 'ended',
    pause: null,
    dryRun: true,
    counts: {Leads: {planned: 5}},
    questions: 0,
    startedAt: null,
    endedAt: null,
  }
  const stop = {stopped: 'LIMIT_ROWS_PER_RUN', message: 'The limit is reached'}
  const linksEmpty = [{flowId: 'leads', field: 'Owner', rows: 2}]
  const [head, ...lines] = describeEnding(out, {...run, stop, linksEmpty})
  t.is(head, 'Previewed after 0:00: The limit is reached (LIMIT_ROWS_PER_RUN)')
  t.true(lines.includes('  2 links in Owner left empty by flow leads. Import the linked records first.'), lines.join('\n'))
  t.regex(describeEnding(out, {...run, dryRun: false, stop: null, linksEmpty}).join('\n'), /A retry fills them/)
  t.regex(describeEnding(out, {...run, dryRun: false, stop})[0]!, /^Stopped after 0:00: The limit/)
})

test('failed rows as JSON leave out what failed.csv leaves out: records that may exist, and rows that do not fit the header', t => {
  const failed = {phase: 'write', outcome: 'refused', code: 'INVALID_DATA', message: 'Refused', mayExist: false}
  t.true(isInFailedFile({entries: [failed, {...failed, phase: 'patch', outcome: 'unanswered'}]}))
  for (const other of [{outcome: 'unanswered'}, {mayExist: true}, {code: 'ROW_RAGGED'}, {code: 'ROW_QUOTE'}])
    t.false(isInFailedFile({entries: [failed, {...failed, ...other}]}), JSON.stringify(other))
})

test('the failed log entries are those of the last attempts, and in an attempt an answer is final whatever the order', async t => {
  const entries = [
    ['sent again', 1, 'unanswered'],
    ['answered first', 1, 'created'],
    ['answered later', 1, 'unanswered'],
    ['refused twice', 1, 'refused'],
    ['lost', 1, 'unanswered'],
    ['corrected', 1, 'refused', 'Phone'],
    ['unchanged', 1, 'unanswered'],
    ['sent again', 2, 'created'],
    ['answered first', 1, 'unanswered'],
    ['answered later', 1, 'updated'],
    ['refused twice', 2, 'refused'],
    ['corrected', 2, 'updated'],
    ['unchanged', 2, 'skipped', '', 'UNCHANGED'],
    ['refused twice', 0, 'made_after_no_answer'],
  ].map(([rowKey, attempt, outcome, target = '', code = null], at) => ({
    seq: at + 1,
    rowKey,
    flowId: 'f',
    module: 'Leads',
    phase: 'write',
    attempt,
    outcome,
    target,
    code,
  }))
  const failed = await readFailed(async function* () {
    yield* entries
  })
  t.deepEqual(
    failed.map(({rowKey, attempt}) => [rowKey, attempt]),
    [
      ['lost', 1],
      ['refused twice', 2],
    ],
  )
})

test('the failed log entries of an undo are those of each record, because a row of an external run may have written several', async t => {
  const entry = {rowKey: 'K', flowId: 'f', module: 'Leads', phase: 'write'}
  const read = async function* () {
    yield {...entry, seq: 1, attempt: 0, recordId: '1', outcome: 'skipped', code: 'CHANGED_SINCE'}
    yield {...entry, seq: 2, attempt: 1, recordId: '2', outcome: 'updated', code: 'RESTORED'}
  }
  t.deepEqual(
    (await readFailed(read, {byRecord: true})).map(({recordId}) => recordId),
    ['1'],
  )
  t.deepEqual(await readFailed(read), [])
})
