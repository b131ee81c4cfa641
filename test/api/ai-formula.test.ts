import anyTest, {type TestFn} from 'ava'
import {writeFormula} from '../../shared/assistant/formula.ts'
import {openModel} from '../../shared/assistant/model.ts'
import {readConfig} from '../../shared/config.ts'
import {Refusal} from '../../shared/errors.ts'
import {type Assisted, type Home, openAssisted, openHome, unplaced, usageOf} from '../support/ai.ts'
import {refused} from '../support/entitlements.ts'
import {ok} from '../support/importing.ts'

/** The tests run serially, because they share one model. */
const test = anyTest.serial as TestFn<Assisted>
test.before(async t => void Object.assign(t.context, await openAssisted(t, {kind: 'anthropic'})))
test.beforeEach(t => t.context.model.clear())

const question = {
  module: 'People',
  field: 'Favourite_Color',
  question: 'The colour in capitals',
  columns: ['Name', 'Color'],
  rows: [
    ['Anna Berg', 'teal'],
    ['Bo Li', ''],
    ['Jo Wu', 'pink'],
  ],
}
const ask = ({call}: Pick<Home, 'call'>, more: object = {}) => call('POST', '/ai/formula', {...question, ...more})
const say = (expression: string | null) => ({json: {expression, explanation: 'Upper case'}})

test('an expression is compiled and run on the real rows before it is returned', async t => {
  const {house, model} = t.context
  const home = await openHome(house)
  model.script(say('helpers.upper(row.Color)'))
  const answer = await ok(ask(home), 200)
  t.like(answer, {expression: 'helpers.upper(row.Color)', explanation: 'Upper case', attempts: 1, samples: 'values'})
  t.deepEqual(answer.results, [
    {row: 1, value: 'TEAL', problem: null},
    {row: 2, value: '', problem: null},
    {row: 3, value: 'PINK', problem: null},
  ])
  t.true(answer.credits >= 1)
  const {requests, credits, balance} = await usageOf(home, 'formula')
  t.deepEqual([requests, credits, balance.reserved], [1, answer.credits, 0])
  const {body} = model.journal[0]!
  for (const part of ['helpers.splitName', 'The colour in capitals', 'Favourite_Color', 'teal']) t.true(body.includes(part), part)
  t.false(/Anna|Berg/.test(body), 'a column called Name is about people')
})

test('a failing expression is repaired at most twice, and the model learns only row numbers and error codes', async t => {
  const {house, model} = t.context
  const home = await openHome(house)
  model.script(say('row.Color.toUpperCase('), say('JSON.parse(row.Color)'), say('helpers.upper(row.Color)'))
  const answer = await ok(ask(home), 200)
  t.deepEqual([answer.attempts, answer.results[0].value], [3, 'TEAL'])
  const [, second, third] = model.journal.map(({body}) => body)
  t.regex(second!, /Unexpected token/)
  t.regex(third!, /EXPRESSION_THROWN/)
  t.notRegex(third!, /is not valid JSON/, 'the sandbox’s words quote cells')
  t.true(answer.credits >= 1)
})

test('rows that still fail are reported; values the field cannot take trigger a repair', async t => {
  const {house, model} = t.context
  const home = await openHome(house)
  const joined = {field: 'Joined', columns: ['Since'], rows: [['31.01.2024'], ['soon'], ['01.02.2024']]}
  model.script(
    say('row.Since'),
    say("row.Since === 'soon' ? helpers.date(row.Since, 'DD.MM.YYYY') : helpers.date(row.Since, 'DD.MM.YYYY')"),
  )
  model.always(() => say("helpers.date(row.Since, 'DD.MM.YYYY')"))
  const answer = await ok(ask(home, joined), 200)
  t.is(answer.attempts, 3)
  t.deepEqual(answer.results[0], {row: 1, value: '2024-01-31', problem: null})
  t.like(answer.results[1], {row: 2, error: {code: 'EXPRESSION_THROWN'}})
  t.regex(model.journal[1]!.body, /notAcceptedByField/)
})

test('three failing attempts give an error, cost nothing and leave no reservation', async t => {
  const {house, model} = t.context
  const home = await openHome(house, {credits: 20})
  model.always(() => say('fetch("https://evil.example")'))
  const {status, body} = await ask(home)
  t.deepEqual([status, body.code, model.journal.length], [502, 'MODEL_ANSWER_INVALID', 3])
  model.clear()
  model.faults.add({action: {type: 'status', status: 429, retryAfter: '20', echo: true}})
  const busy = await ask(home)
  t.deepEqual([busy.status, busy.body.code, busy.headers.get('retry-after')], [503, 'MODEL_UNAVAILABLE', '20'])
  model.faults.add({action: {type: 'wrongSchema'}})
  t.is((await ask(home)).body.code, 'MODEL_ANSWER_INVALID')
  model.faults.add({action: {type: 'status', status: 404}})
  t.is((await ask(home)).body.code, 'NOT_CONFIGURED')
  const {requests, failed, credits, inputTokens, balance} = await usageOf(home, 'formula')
  t.deepEqual([requests, failed, credits, balance.available, balance.reserved], [4, 4, 0, 20, 0])
  t.true(inputTokens > 0, 'what the provider was asked is counted all the same')
})

test('an expression that never ends fails for its rows and does not block the service', async t => {
  const {house, model} = t.context
  const home = await openHome(house)
  model.script(say('[...Array(1e9).keys()].map(x => [...Array(1e9).keys()]).length'), say(null))
  const answer = await ok(ask(home, {rows: [['Anna', 'teal']]}), 200)
  t.deepEqual([answer.expression, answer.results], [null, []])
  t.regex(model.journal[1]!.body, /EXPRESSION_(TIMEOUT|MEMORY)/)
})

test('an expression may use `value`, the cell of the source, and call libraries of the org', async t => {
  const {house, model} = t.context
  const home = await openHome(house)
  const manifest = {
    namespace: 'paint',
    version: '1.0.0',
    scope: 'org',
    description: '',
    functions: [{name: 'shade', description: 'A darker one'}],
  }
  await ok(home.call('PUT', `/orgs/${home.org}/libraries/paint`, {manifest, source: "export const shade = text => 'dark ' + text"}), 200)
  model.script(say('paint.shade(value)'))
  const answer = await ok(ask(home, {source: 'Color'}), 200)
  t.deepEqual(
    answer.results.map(({value}: {value: string}) => value),
    ['dark teal', 'dark ', 'dark pink'],
  )
  t.true(model.journal[0]!.body.includes('A darker one'))
  model.script(say('value'), say('row.Color'))
  t.is((await ok(ask(home), 200)).attempts, 2, 'without a source there is no `value`')
})

test('a formula request is refused without credits, without a model and for a field that cannot be written', async t => {
  const {house, model} = t.context
  const poor = await openHome(house, {credits: 0})
  const answer = await ask(poor)
  refused(t, answer, 'CREDITS_EXHAUSTED', answer.body.lift, /AI credits/)
  t.true(answer.body.lift.length > 0)
  t.is(model.journal.length, 0)
  const home = await openHome(house)
  for (const field of ['Locked', 'Orders', 'Nowhere', '__proto__']) t.deepEqual((await ask(home, {field})).body.issues[0].path, ['field'])
  t.is((await ask(home, {source: 'Nothing'})).body.code, 'INVALID')
  t.is((await ask(home, {question: ' '})).body.code, 'INVALID')
  const none = {...house.tools, model: openModel(readConfig({}))}
  const given = {
    ...unplaced(home),
    module: 'People',
    field: 'City',
    question: 'How?',
    source: null,
    columns: [],
    rows: [],
    signal: new AbortController().signal,
  }
  t.is((await t.throwsAsync(writeFormula(none, given), {instanceOf: Refusal}))!.code, 'NOT_CONFIGURED')
  const gone = {...given, signal: AbortSignal.abort()}
  t.is((await t.throwsAsync(writeFormula(house.tools, gone), {instanceOf: Refusal}))!.code, 'REQUEST_TIMEOUT')
  t.is((await usageOf(home, 'formula')).balance.reserved, 0)
})
