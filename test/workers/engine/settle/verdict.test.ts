import test from 'ava'
import type {CrmProblem, RecordAnswer} from '../../../../shared/crm/crm.ts'
import {countAt, OUTCOMES} from '../../../../sql/run-log.ts'
import {type ImportRow, STEP_CODES, type StepKind} from '../../../../workers/engine/model.ts'

import type {ClaimVerdict} from '../../../../workers/engine/recover/judge-claims.ts'
import {openLateUpdates} from '../../../../workers/engine/recover/late-updates.ts'
import {emptySettlement} from '../../../../workers/engine/settle/settler.ts'
import {closeUnsettled, findClaimedRecord, judgeAnswer} from '../../../../workers/engine/settle/verdict.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

const code = field('Code', {unique: true})
const flow = compiledFlow([field('Name'), code], {matchFields: [code]})

const problem = (more: Partial<CrmProblem> = {}): CrmProblem => ({
  code: 'INVALID_DATA',
  status: 400,
  details: null,
  retryable: false,
  response: null,
  unanswered: false,
  retryAfterMs: null,
  quotaSpent: false,
  ...more,
})
type Refused = Extract<RecordAnswer, {sent: true}>
const refused = (more: Partial<CrmProblem> = {}, duplicateOf: string | null = null): Refused => ({
  ok: false,
  sent: true,
  crm: problem(more),
  duplicateOf,
})
const silence = refused({code: null, status: null, unanswered: true})
const duplicate = (id: string, name = 'Code') => refused({code: 'DUPLICATE_DATA', details: {api_name: name, duplicate_record: {id}}}, id)

const lateUpdates = openLateUpdates(0)

/** Judges the answers to one row in sequence, as answers to batches of one run. */
const judge = (
  one: ImportRow,
  kind: StepKind,
  answers: Exclude<RecordAnswer, {sent: false}>[],
  {take, target = null, onOne = 'update'}: {take?: ClaimVerdict | 'later'; target?: string | null; onOne?: 'update' | 'create'} = {},
) => {
  const settled = emptySettlement(1)
  const next = answers.map(answer =>
    judgeAnswer({flow: {...flow, onOne}, kind, settled, patienceMs: 0, lateUpdates}, {row: one, target}, answer, take),
  )
  const counts = Object.fromEntries(
    OUTCOMES.map(outcome => [outcome, settled.counts.get(countAt(1, outcome)) ?? 0]).filter(([, count]) => count),
  )
  return {next, settled, counts, log: settled.log.map(({outcome, attempt, code, recordId}) => [OUTCOMES[outcome], attempt, code, recordId])}
}

test('a created record is logged, kept with its match key and counted', t => {
  const one = row(1, {matchKey: Buffer.from('k')})
  const {next, settled, counts, log} = judge(one, 'create', [{ok: true, recordId: '7'}])
  t.deepEqual(next, ['end'])
  t.deepEqual(log, [['created', 1, null, '7']])
  t.like(settled.kept, [{module: 1, key: 'f.1', recordId: '7', how: 1, matchKey: Buffer.from('k'), mayExistTwice: false}])
  t.deepEqual(counts, {created: 1})
  t.deepEqual([settled.released, settled.opened, settled.closed], [[], [], []])
})

test('a refused row is final and no longer counted against the row limit', t => {
  const {next, settled, counts, log} = judge(row(1), 'create', [refused()])
  t.deepEqual([next, log, counts], [['end'], [['refused', 1, 'INVALID_DATA', null]], {refused: 1}])
  t.deepEqual(settled.released, [{module: 1, flow: 1, key: 'f.1', number: 1}])
})

test('a refusal without a code carries its HTTP status', t => {
  t.deepEqual(judge(row(1), 'create', [refused({code: null, status: 413})]).log, [['refused', 1, 'HTTP_413', null]])
})

test('an unanswered create is sent again where it has a unique field, and looked for otherwise', t => {
  t.deepEqual(judge(row(1, {hasUniqueKey: true}), 'create', [silence]).next, ['again'])
  const {next, settled} = judge(row(1), 'create', [silence])
  t.deepEqual(next, ['wait'])
  t.deepEqual([settled.opened.length, settled.released.length], [1, 0], 'an open question, and still counted')
})

test('a row ends unanswered after three attempts without an answer, counted once and still open', t => {
  const one = row(1, {hasUniqueKey: true})
  const {next, settled, counts} = judge(one, 'create', [silence, silence, silence])
  t.deepEqual(next, ['again', 'again', 'end'])
  t.deepEqual(counts, {unanswered: 1})
  t.deepEqual(
    settled.opened.map(({attempt, kind}) => [attempt, kind]),
    [1, 2, 3].map(attempt => [attempt, STEP_CODES.create]),
  )
  t.deepEqual([settled.released, settled.closed], [[], []])
})

test('an answer after a missing one closes the question and replaces the unanswered outcome', t => {
  const {counts, log, settled} = judge(row(1), 'update', [silence, {ok: true, recordId: '7'}], {target: '7'})
  t.deepEqual(log, [
    ['unanswered', 1, null, '7'],
    ['updated', 2, null, '7'],
  ])
  t.deepEqual(counts, {updated: 1})
  t.deepEqual(settled.closed, [{module: 1, key: 'f.1'}])
})

test('a refusal after an unanswered attempt proves nothing: the row stays counted and its question stays open', t => {
  const {settled, counts} = judge(row(1, {hasUniqueKey: true}), 'create', [silence, refused()])
  t.deepEqual([settled.released, settled.closed, counts], [[], [], {refused: 1}])
  t.like(settled.opened, [{kind: STEP_CODES.create}, {kind: STEP_CODES.again, ended: true}])
})

test('a claimed record is logged as refused, then as created earlier under the next attempt', t => {
  const {log, settled, counts, next} = judge(
    row(1, {hasUniqueKey: true, attempt: 1, unansweredSends: 1, counted: 'unanswered', open: true}),
    'create',
    [duplicate('7')],
    {
      take: {taken: true},
    },
  )
  t.deepEqual(log, [
    ['refused', 2, 'DUPLICATE_DATA', null],
    ['created', 3, 'MADE_EARLIER', '7'],
  ])
  t.deepEqual([counts, next], [{unanswered: -1, created: 1}, ['end']])
  t.deepEqual(
    settled.kept.map(({how}) => how),
    [2],
  )
  t.deepEqual([settled.released, settled.closed.length], [[], 1])
})

test('a row whose record claim is rejected stays refused and gives the reason', t => {
  const one = row(1, {hasUniqueKey: true, attempt: 1, unansweredSends: 1, counted: 'unanswered', open: true})
  const {settled} = judge(one, 'create', [duplicate('7')], {take: {taken: false, why: 'another'}})
  t.regex(settled.log[0]!.message!, /another user created it/)
  t.deepEqual(settled.released, [])
})

test('a row whose record cannot be read now is tried later, and its question stays open', t => {
  const one = row(1, {hasUniqueKey: true, attempt: 1, unansweredSends: 1, counted: 'unanswered', open: true})
  const {next, settled, counts, log} = judge(one, 'create', [duplicate('7')], {take: 'later'})
  t.deepEqual([next, log], [['again'], [['unanswered', 2, 'RESEND_SAFE', null]]])
  t.deepEqual([settled.opened.length, settled.closed, settled.released], [1, [], []])
  t.deepEqual(counts, {}, 'it is counted as it was')
})

test('a refused create of an earlier run whose duplicate cannot be read now is sent again as a create', t => {
  const one = row(1, {hasUniqueKey: true, hasLostCreate: true})
  const {next} = judge(one, 'create', [duplicate('7')], {take: {taken: false, why: 'gone'}})
  t.deepEqual([next, one.decided], [['again'], {kind: 'create', target: null}])
})

test('a duplicate of the match field is planned again with the record that the CRM names', t => {
  const one = row(1, {hasUniqueKey: true})
  const {next, settled, log} = judge(one, 'create', [duplicate('7')])
  t.deepEqual([next, log], [['replan'], [['refused', 1, 'DUPLICATE_DATA', null]]])
  t.deepEqual(one.matches, ['7'])
  t.deepEqual(
    settled.opened.map(({kind}) => kind),
    [STEP_CODES.again],
  )
  t.deepEqual(settled.released, [{module: 1, flow: 1, key: 'f.1', number: 1}])
})

test('a duplicate that the row matches already is refused, because its plan would be the same', t => {
  const {next, log} = judge(row(1, {matches: ['7']}), 'create', [duplicate('7')])
  t.deepEqual([next, log], [['end'], [['refused', 1, 'DUPLICATE_DATA', null]]])
})

test('a duplicate of any other field is refused', t => {
  t.deepEqual(judge(row(1), 'create', [duplicate('7', 'Reference')]).next, ['end'])
  t.deepEqual(judge(row(1), 'create', [duplicate('7')], {onOne: 'create'}).next, ['end'])
  t.deepEqual(judge(row(1), 'update', [duplicate('7')], {target: '8'}).next, ['end'])
  t.deepEqual(judge(row(1), 'create', [{...duplicate('7'), duplicateOf: null}]).next, ['end'])
})

test('only a lost create may claim a record', t => {
  const lost = {row: row(1, {unansweredSends: 1}), target: null}
  t.is(findClaimedRecord('create', lost, duplicate('7')), '7')
  t.is(findClaimedRecord('update', lost, duplicate('7')), null)
  t.is(findClaimedRecord('create', {row: row(1), target: null}, duplicate('7')), null)
  t.is(findClaimedRecord('create', lost, silence), null)
  t.is(findClaimedRecord('create', lost, {ok: true, recordId: '7'}), null)
})

test('a duplicate of its idempotency value lets a row claim the record, even if each of its sends was answered', t => {
  const one = row(1, {hasUniqueKey: true, idempotency: {field: 'Key', value: 'v'}})
  t.is(findClaimedRecord('create', {row: one, target: null}, duplicate('7')), null, 'another field proves nothing')
  const errors = [duplicate('8'), duplicate('7', 'Key')].map(({crm: {code, details}}) => ({code, details}))
  const both = refused({code: 'MULTIPLE_OR_MULTI_ERRORS', details: {errors}})
  t.is(findClaimedRecord('create', {row: one, target: null}, both), '7', 'the value proves it against other fields')
  const {settled, counts, log, next} = judge(one, 'create', [both], {take: {taken: true}})
  t.deepEqual(log, [
    ['unanswered', 1, 'RESEND_SAFE', null],
    ['created', 2, 'MADE_EARLIER', '7'],
  ])
  t.deepEqual([counts, next, settled.released], [{created: 1}, ['end'], []], 'this run sent it, so the row stays counted')
})

test('a create lost by an earlier run may claim its record, which does not count in the current run', t => {
  const one = row(1, {hasUniqueKey: true, hasLostCreate: true, open: true})
  t.is(findClaimedRecord('create', {row: one, target: null}, duplicate('7')), '7')
  const {settled, counts, log, next} = judge(one, 'create', [duplicate('7')], {take: {taken: true}})
  t.deepEqual(log, [
    ['refused', 1, 'DUPLICATE_DATA', null],
    ['created', 2, 'MADE_EARLIER', '7'],
  ])
  t.deepEqual([counts, next, settled.closed.length], [{created: 1}, ['end'], 1])
  t.deepEqual(settled.released, [{module: 1, flow: 1, key: 'f.1', number: 1}], 'the run that sent it counts it')
})

test('a create lost by an earlier run and refused in the current one is not counted, and its message says it may exist', t => {
  const one = row(1, {hasUniqueKey: true, hasLostCreate: true, open: true})
  const {settled, log} = judge(one, 'create', [duplicate('7')], {take: {taken: false, why: 'another'}})
  t.deepEqual(log, [['refused', 1, 'DUPLICATE_DATA', null]], 'it is not planned again with a record that may be its own')
  t.regex(settled.log[0]!.message!, /another user created it\. An earlier create of this row was never answered/)
  t.deepEqual(settled.released, [{module: 1, flow: 1, key: 'f.1', number: 1}])
})

test('messages of the CRM are cleaned of NUL characters and truncated for the database', t => {
  const {settled} = judge(row(1), 'create', [refused({code: 'BAD\0CODE', response: {message: `nul \0 and ${'long '.repeat(2_000)}`}})])
  t.false(/\0/.test(JSON.stringify(settled.log).replaceAll('\\u0000', '\0')))
  t.true(settled.log[0]!.message!.length <= 2_000)
})

test('a refused update stays unsettled if this run or an earlier run sent it before without an answer', t => {
  const again = {target: '7', kind: STEP_CODES.again, ended: true}
  const sentTwice = judge(row(1), 'update', [silence, refused()], {target: '7'})
  t.like(sentTwice.settled, {opened: [{kind: STEP_CODES.update}, again], closed: [], released: []})
  t.regex(sentTwice.settled.log[1]!.message!, /An earlier send of this row was never answered, so its values may have been written$/)
  const retried = judge(row(1, {open: true, lostUpdate: '7'}), 'update', [refused()], {target: '7'})
  t.like(retried.settled, {opened: [again], closed: []})
  const first = judge(row(1, {open: true}), 'update', [refused()], {target: '7'})
  t.like(first.settled, {opened: [], closed: [{key: 'f.1'}]})
  t.notRegex(first.settled.log[0]!.message!, /may have been written/)
})

test('a row whose update of another record was never answered keeps its open question, however it ends', t => {
  const doubt = {key: 'f.1', target: '7', kind: STEP_CODES.again, ended: true}
  const lost = {open: true, lostUpdate: '7'}
  const made = judge(row(1, lost), 'create', [{ok: true, recordId: '8'}])
  t.like(made.settled, {opened: [doubt], closed: []})
  const notMade = judge(row(1, lost), 'create', [refused()])
  t.like(notMade.settled, {opened: [doubt], closed: []})
  t.regex(notMade.settled.log[0]!.message!, /may have been written$/)
  const written = judge(row(1, lost), 'update', [{ok: true, recordId: '7'}], {target: '7'})
  t.like(written.settled, {opened: [], closed: [{key: 'f.1'}]})
  const other = row(1)
  judge(other, 'update', [silence], {target: '7'})
  t.like(judge(other, 'update', [silence, {ok: true, recordId: '8'}], {target: '8'}).settled.opened.at(-1), doubt)
  const settled = emptySettlement(1)
  closeUnsettled({flow, settled}, row(1, lost))
  t.like(settled, {opened: [doubt], closed: []})
})

test('a refused update keeps the open question about a lost create of an earlier run', t => {
  const {settled} = judge(row(1, {open: true, hasLostCreate: true}), 'update', [refused()], {target: '7'})
  t.like(settled, {opened: [{target: null, kind: STEP_CODES.again, ended: true}], closed: []})
})
