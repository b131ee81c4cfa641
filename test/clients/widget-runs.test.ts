import test from 'ava'
import {type Group, mergeGroups, reasonsOf} from '../../api/clients/run-reasons.ts'
import {nameFile} from '../../api/clients/widget/runs/file-name.ts'
import {addSample, etaOf, firstSample, rateOf, type Sample, sampleOf, stack} from '../../api/clients/widget/runs/rate.ts'
import {type Entry, linesOf, whyOfEntry} from '../../api/clients/widget/runs/row.ts'
import {choicesIn, filterIn, sayOutcome, sourceWith} from '../../api/clients/widget/runs/rows-query.ts'
import {chainsOf, isRetriable, kindOf, type Run, sayRange, sayState, withEvent} from '../../api/clients/widget/runs/run.ts'
import {draftOf, excessOf, rowsIn} from '../../api/clients/widget/runs/start.ts'
import {accountOf, leftOf, planOf, sumCounts} from '../../api/clients/widget/runs/tally.ts'
import {adviceOf, whyOf} from '../../api/clients/widget/runs/why.ts'
import {adviceFor} from '../../api/clients/widget/templates/frequency.ts'
import {run} from './widget-samples.ts'

const progress = (done: number, total: number) => ({done, total, rowsPerSecond: null, etaSeconds: null})

test('every row of a run is counted over all modules, and rows that a stopped run did not reach are shown', t => {
  const counts = {Accounts: {created: 5, failed: 1}, Contacts: {created: 2, filtered: 1}}
  const whole = accountOf({counts, progress: progress(9, 9)})
  t.deepEqual(
    whole.lines.map(({key, rows, byModule}) => [key, rows, byModule]),
    [
      ['created', 7, [5, 2]],
      ['filtered', 1, [0, 1]],
      ['failed', 1, [1, 0]],
    ],
  )
  t.like(whole, {told: 9, total: 9, notReached: 0, isWhole: true})
  t.like(accountOf({counts, progress: progress(9, 20)}), {told: 9, notReached: 11, isWhole: false})
  t.like(accountOf({counts, progress: null}), {total: null, notReached: 0, isWhole: false})
  t.is(sumCounts(counts, 'Contacts').created, 2)
})

test('a retry processes rows without a record and rows that were not reached', t => {
  const counts = {Accounts: {created: 5, inherited: 2, failed: 1, refused: 1, unanswered: 1, skipped: 1, filtered: 3}}
  t.is(leftOf({counts, progress: progress(14, 16)}), 6)
  const settled = {Accounts: {updated: 1, skipped: 9}}
  t.is(leftOf({counts: settled, progress: progress(10, 10), unchanged: 4, keptRows: 5}), 0, 'unchanged and kept rows are done')
})

const group = (more: Partial<Group>): Group => ({
  source: 'src_1',
  module: 'Accounts',
  moduleLabel: 'Accounts',
  phase: 'write',
  outcome: 'created',
  action: null,
  code: null,
  field: null,
  fieldLabel: null,
  linkEmpty: false,
  rows: 1,
  firstRow: 1,
  message: null,
  ...more,
})

test('groups of several pages are added up, and keep their first row and its message', t => {
  const refused = group({outcome: 'refused', code: 'INVALID_DATA', rows: 2, firstRow: 3, message: 'first'})
  const merged = mergeGroups(
    [group({rows: 5}), refused],
    [{...refused, rows: 9, firstRow: 70, message: 'later'}, group({code: 'MADE_EARLIER'})],
  )
  t.deepEqual(
    merged.map(({outcome, rows, firstRow}) => [outcome, rows, firstRow]),
    [
      ['refused', 11, 3],
      ['created', 5, 1],
      ['created', 1, 1],
    ],
  )
  t.deepEqual(
    reasonsOf([...merged, group({outcome: 'skipped', rows: 4}), group({outcome: 'skipped', code: 'MATCH_MANY', rows: 20})]).map(
      ({code}) => code,
    ),
    ['MATCH_MANY', 'INVALID_DATA'],
  )
})

test('a plan counts rows by module and action, without lookups', t => {
  const groups = [
    group({action: 'create', rows: 3}),
    group({action: 'create', code: 'X', rows: 2}),
    group({action: 'ask', phase: 'match', rows: 1}),
    group({module: 'Contacts', moduleLabel: 'People', action: 'patch', phase: 'patch', rows: 4}),
    group({outcome: 'lookup', phase: 'lookup', rows: 9}),
  ]
  const [accounts, contacts, ...others] = planOf(groups)
  t.like(accounts, {module: 'Accounts', actions: {create: 5, ask: 1, update: 0}})
  t.like(contacts, {label: 'People', actions: {patch: 4}})
  t.is(others.length, 0)
})

test('the row rate covers the last seconds, and the remaining time follows from it', t => {
  const at = (second: number, done: number): Sample => ({at: second * 1000, done, parts: [done, 0, 0, 0, 0]})
  const samples = [at(0, 0), at(10, 100), at(40, 400), at(60, 1400)]
  t.is(rateOf(samples, 60_000), 50)
  t.is(rateOf(samples, 80_000), 0, 'nothing has come for so long')
  t.is(rateOf([at(5, 10)], 5_500), null)
  t.is(rateOf([], 5_500), null)
  t.is(etaOf({progress: progress(1400, 2400)}, 50), 20_000)
  t.is(etaOf({progress: progress(1400, 2400)}, 0), null)
  t.is(etaOf({progress: null}, 50), null)
})

test('the chart begins with the start of the run, unless the clock of the browser is behind', t => {
  const started = run({startedAt: '2026-03-01T08:00:00.000Z', counts: {A: {created: 3}}, progress: progress(3, 9)})
  const at = Date.parse(started.startedAt!)
  t.deepEqual(firstSample(started, at + 1), [{at, done: 0, parts: [0, 0, 0, 0, 0]}])
  t.is(addSample(firstSample(started, at - 60_000), sampleOf(started, at - 60_000)).at(-1)!.done, 3)
  t.deepEqual(firstSample(run(), at), [])
})

test('samples of a long run keep their first, last and overall shape, and a stack ends with all rows', t => {
  let samples: Sample[] = []
  for (let second = 1; second <= 2_000; second++)
    samples = addSample(
      samples,
      sampleOf({counts: {A: {created: second, failed: 1}}, progress: progress(second + 1, 9_999)}, second * 1000),
    )
  t.true(samples.length <= 240)
  t.is(samples[0]!.at, 1_000)
  t.is(samples.at(-1)!.at, 2_000_000)
  t.deepEqual(addSample(samples, {...samples[0]!}), samples, 'what is not later is nothing new')
  const [times, ...parts] = stack(samples)
  t.is(times!.at(-1), 2_000)
  t.deepEqual([parts[0]!.at(-1), parts.at(-1)!.at(-1)], [2_000, 2_001])
})

test('a run event changes only its fields, and an end event replaces the run', t => {
  const before = run({state: 'queued', progress: progress(0, 5)})
  const writing = withEvent(before, {event: 'state', data: {state: 'writing', pause: null, stop: null, stoppedBy: null}})
  const further = withEvent(writing, {event: 'progress', data: {progress: progress(3, 5), counts: {A: {created: 3}}, rowsWritten: 3}})
  t.like(further, {state: 'writing', rowsWritten: 3, progress: {done: 3}, id: 'run_1'})
  t.is(withEvent(further, {event: 'end', data: {run: run({state: 'ended', questions: 2})}}).questions, 2)
  t.is(withEvent(further, {event: 'other', data: {state: 'ended'}}), further)
})

test('a run shows its state, its kind and its row range', t => {
  t.is(sayState(run({stop: {stopped: 'CANCELLED', message: ''}})).word, 'Cancelled')
  t.is(sayState(run({stop: {stopped: 'GRANT_ENDED', message: ''}})).word, 'Stopped')
  t.is(sayState(run({dryRun: true, counts: {A: {planned: 1}}, stop: {stopped: 'LIMIT_ROWS_PER_RUN', message: ''}})).word, 'Previewed')
  t.is(sayState(run({state: 'writing', stop: {stopped: 'CANCELLED', message: ''}})).word, 'Stopping')
  t.is(kindOf(run({retryOf: 'run_0'})), 'Retry')
  t.is(sayRange({from: 5000}), 'from row 5,000')
  t.is(sayRange({to: 250_000}), 'rows 1 to 250,000')
  t.is(sayRange({from: 3, to: 3}), 'row 3')
  t.is(sayRange(null), null)
})

test('a run can be retried unless it is a dry run, an undo or an external run, never started, or its undo has begun', t => {
  t.true(isRetriable(run()))
  for (const more of [{dryRun: true}, {undoOf: 'run_0'}, {begunUndo: 'run_2'}, {engine: 'outside'}, {engine: null}] as const)
    t.false(isRetriable(run(more)), JSON.stringify(more))
})

test('a downloaded file is named after its import', t => {
  t.is(nameFile({importName: 'Leads Lisbon fair', kind: 'failed'}), 'Leads Lisbon fair - failed.csv')
  t.is(nameFile({importName: 'Leads: 1/2 "new"', kind: 'results'}), 'Leads 1 2 new - results.csv')
  t.is(nameFile({importName: 'Orders', kind: 'failed', source: 'lines.csv'}), 'Orders, lines.csv - failed.csv', 'of several files')
  t.is(nameFile({importName: '../..', kind: 'plan'}), 'import - plan.csv')
  t.is(nameFile({importName: 'x'.repeat(200), kind: 'plan'}).length, 120 + ' - plan.csv'.length)
})

test('retries are listed after the run they continue, and dry runs separately', t => {
  const at = (id: string, minute: number, more: Partial<Run> = {}) => run({id, authorisedAt: `2026-03-01T08:0${minute}:00.000Z`, ...more})
  const runs = [
    at('e', 5, {retryOf: 'gone'}),
    at('d', 4, {retryOf: 'b'}),
    at('c', 3, {dryRun: true, retryOf: 'a'}),
    at('b', 2, {retryOf: 'a'}),
    at('a', 1),
  ]
  t.deepEqual(
    chainsOf(runs).map(chain => chain.map(({id}) => id)),
    [['e'], ['a', 'b', 'd'], ['c']],
  )
})

test("a pause or stop shows advice, and does not repeat advice in the server's message", t => {
  const paused = run({state: 'paused', pause: {code: 'WRITES_PAUSED', message: 'Writes are paused'}})
  t.like(whyOf(paused), {go: {parts: ['connections']}, message: 'Writes are paused'})
  t.truthy(whyOf(run({state: 'paused', pause: {code: 'NEVER_HEARD_OF', message: 'x'}}))!.todo)
  t.is(whyOf(run({stop: {stopped: 'CANCELLED', message: 'Cancelled. Retry this run to carry on'}}))!.todo, '')
  t.regex(whyOf(run({stop: {stopped: 'GRANT_ENDED', message: 'The grant has ended'}}))!.todo, /Connect the CRM again/)
  t.regex(whyOf(run({dryRun: true, stop: {stopped: 'LIMIT_ROWS_PER_RUN', message: 'x'}}))!.title, /would stop/)
  t.is(whyOf(run()), null)
  t.regex(adviceOf({code: null, outcome: 'unanswered'})!, /searches for the record first/)
  t.regex(adviceOf({code: 'HTTP_504', outcome: 'unanswered'})!, /searches for the record first/)
  const unanswered: Record<string, RegExp> = {
    RESEND_SAFE: /^Retry the run\. A unique field/,
    KEY_UNANSWERED: /Another row with the same match value/,
    RECORD_HELD: /another row's record/,
    MAYBE_MADE: /Check them in the CRM/,
    SENT_BEFORE: /only if it is not there/,
    PAYLOAD_CHANGED: /Set the mapping back/,
  }
  for (const [code, says] of Object.entries(unanswered)) t.regex(adviceOf({code, outcome: 'unanswered'})!, says, code)
  t.is(new Set(Object.keys(unanswered).map(code => adviceOf({code, outcome: 'unanswered'}))).size, 6, 'each has its own')
  t.is(adviceOf({code: null, outcome: 'created'}), null)
  t.truthy(adviceOf({code: 'SOMETHING_OF_THE_CRM', outcome: 'refused'}))
})

test('typed row numbers become a row range, or an error', t => {
  t.deepEqual(draftOf({from: '', to: '', most: ''}), {body: {}, problems: {}})
  t.deepEqual(draftOf({from: '', to: '', most: '', write: ''}).body, {})
  t.deepEqual(draftOf({from: '', to: '', most: '', write: 'bulk'}).body, {write: 'bulk'})
  t.deepEqual(draftOf({from: ' 2', to: '1,000', most: '2 500'}).body, {rows: {from: 2, to: 1000}, declaredRows: 2500})
  t.deepEqual(Object.keys(draftOf({from: '0', to: 'x', most: '-1'}).problems), ['from', 'to', 'most'])
  t.regex(draftOf({from: '9', to: '3', most: ''}).problems.to!, /a row from 9/)
  t.is(rowsIn({rows: 100, struck: 5}), 95)
  t.is(rowsIn({rows: 100, struck: 5}, {from: 91, to: 200}), 10)
  t.is(rowsIn({rows: 100, struck: 0}, {from: 101}), 0)
})

test('rows beyond the plan are shown as billed only if a run would write them', t => {
  const room = (overageEnabled: boolean) => ({limits: {rowsPerRun: 100}, usage: {rows: {remaining: 10}}, overageEnabled})
  t.deepEqual(excessOf(room(true), 10), {isCut: false, isBilled: false})
  t.deepEqual(excessOf(room(true), 50), {isCut: false, isBilled: true})
  t.deepEqual(excessOf(room(true), 150), {isCut: true, isBilled: true}, 'a run writes 100 rows')
  t.deepEqual(excessOf({...room(true), usage: {rows: {remaining: 500}}}, 150), {isCut: true, isBilled: false})
  t.deepEqual(excessOf(room(false), 50), {isCut: true, isBilled: false})
})

test('result filters are read from the address, and lists offer the existing choices', t => {
  const filter = filterIn(new URLSearchParams('outcome=refused&run=r&text=&from=7'))
  t.deepEqual(filter, {outcome: 'refused', from: '7'})
  const groups = [
    group({rows: 1200}),
    group({outcome: 'failed', code: 'TOO_LONG', rows: 2}),
    group({module: 'Deals', moduleLabel: 'Offers'}),
  ]
  const {outcome, module, code, action} = choicesIn(groups, filter, {dryRun: false})
  t.deepEqual(
    outcome.map(({value}) => value),
    ['', 'created', 'failed', 'refused'],
    'what is chosen is offered, though there is none of it',
  )
  t.is(module.find(({value}) => value === 'Deals')!.label, 'Offers (1)')
  t.is(code.at(-1)!.value, 'TOO_LONG')
  t.deepEqual(action, [])
  t.is(sourceWith([...groups, group({source: 'src_2', outcome: 'refused'})], filter), 'src_2')
  t.is(sourceWith(groups, filter), undefined)
  const keptEdit = group({phase: 'edit', outcome: 'skipped', code: 'KEPT_EDIT', field: 'City'})
  const emptyLink = group({source: 'src_2', phase: 'lookup', outcome: 'lookup', code: 'LOOKUP_NONE', field: 'Owner', linkEmpty: true})
  t.is(sourceWith([keptEdit, emptyLink], {linkEmpty: 'true'}), 'src_2', 'a kept edit is no empty link')
  t.is(sayOutcome('failed,refused'), 'Failed or Refused')
})

const entry = (more: Partial<Entry>): Entry => ({
  module: 'Accounts',
  moduleLabel: 'Accounts',
  flowId: 'f',
  phase: 'write',
  field: null,
  fieldLabel: null,
  outcome: 'created',
  action: null,
  recordId: null,
  code: null,
  message: null,
  mayExistTwice: false,
  changes: null,
  ...more,
})

test('a row shows one line per record and patch, with its lookups beside the record', t => {
  const link = entry({outcome: 'lookup', phase: 'lookup', fieldLabel: 'Owner', message: 'No record: the link is left empty'})
  const lines = linesOf({rowNumber: 1, entries: [entry({}), link, entry({phase: 'patch', outcome: 'updated'}), entry({flowId: 'g'})]})
  t.deepEqual(
    lines.map(({links}) => links.length),
    [1, 0, 0],
  )
  const skipped = entry({outcome: 'skipped', message: link.message})
  t.deepEqual(linesOf({rowNumber: 1, entries: [skipped, link]}), [{entry: skipped, links: []}], 'what it says is said once')
  t.is(linesOf({rowNumber: 1, entries: [link]}).length, 1)
  t.is(whyOfEntry(link), 'Owner: No record: the link is left empty')
  t.is(whyOfEntry(entry({outcome: 'planned', message: 'update'})), null)
  t.regex(whyOfEntry(entry({mayExistTwice: true}))!, /may exist twice/)
  const long = entry({
    field: 'Last_Name',
    fieldLabel: 'Surname',
    message: 'Last_Name takes 80 characters, not My_Last_Name',
    outcome: 'failed',
  })
  t.is(whyOfEntry(long), 'Surname takes 80 characters, not My_Last_Name', 'a label replaces the API name as a whole word')
})

test('a schedule that is too frequent for the plan says what the plan allows', t => {
  t.regex(adviceFor('FEATURE_FREQUENT_SCHEDULES')!, /at most every five minutes/)
  t.is(adviceFor('LIMIT_SCHEDULES'), null)
  t.is(adviceFor(null), null)
})
