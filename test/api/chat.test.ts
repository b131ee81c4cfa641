import anyTest, {type TestFn} from 'ava'
import {listen} from '../../api/listen.ts'
import {openModel} from '../../shared/assistant/model.ts'
import type {Answer, Question} from '../simulators/model/answers.ts'
import {usageOf} from '../support/ai.ts'
import {openCalls} from '../support/client.ts'
import {calls, chat, openImport, openTalking, readModel, resultOf, type Talk, type Talking} from '../support/conversations.ts'
import {ok} from '../support/importing.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one model. */
const test = anyTest.serial as TestFn<Talking>
test.before(async t => void Object.assign(t.context, await openTalking(t, {workers: ['discovery']})))
test.beforeEach(t => t.context.model.clear())

const ask = (talk: Talk, more: object = {}) => chat(talk, {message: 'How?', import: talk.importId, place: ['checks'], ...more})

test('an answer is streamed in parts, kept with its price before it ends, and listed', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  model.script({text: 'The file has people in it.'})
  const first = await ask(talk, {place: ['source', talk.source]})
  t.is(first.status, 200)
  t.is(first.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.is(first.text, 'The file has people in it.')
  t.true(first.events.filter(({event}) => event === 'text').length > 1)
  t.is(first.events.filter(({event}) => event === 'done').length, 1)
  t.like(first.done, {samples: 'values', notes: [], turn: {position: 0}})
  const {credits, balance, ...used} = await usageOf(talk, 'chat')
  t.like(used, {requests: 1, failed: 0, ...first.done.usage})
  t.deepEqual([credits, balance.reserved], [first.done.credits, 0])
  t.true(credits > 0)
  t.is((await talk.turns()).turns[0].answer, first.text)
  const sent = JSON.parse(JSON.parse(model.journal[0]!.body).messages.at(-1).content)
  t.deepEqual(
    sent.columns.map(({name, values = [], shapes = []}: any) => [name, ...values, ...shapes]),
    [
      ['Last Name', 'Aa'],
      ['Favourite Color', 'teal', 'pink'],
      ['City', 'Ulm', 'Bonn'],
    ],
  )
  const bare = await chat(talk, {message: 'Without an import?'})
  t.is(bare.done.turn, null)
})

test('a question reserves the cost of its first step only, so a small balance can be spent', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {credits: 6})
  model.always(() => ({text: 'Yes.'}))
  model.faults.add({action: {type: 'hold'}, times: 2})
  const asking = [ask(talk), ask(talk)]
  await until(
    () => model.faults.held(),
    held => held === 2,
  )
  const {balance} = await usageOf(talk, 'chat')
  t.true(balance.reserved <= 6, `${balance.reserved} for two questions`)
  model.faults.release()
  for (const {done} of await Promise.all(asking)) t.is(done.credits, 1)
  for (let time = 0; time < 3; time++) t.is((await ask(talk)).done.credits, 1)
  t.like(await usageOf(talk, 'chat'), {requests: 5, credits: 5, balance: {available: 1, reserved: 0}})
})

test('each further step is reserved first; without credits for it the answer ends with a note', async t => {
  const {house, model} = t.context
  const rich = await openImport(house, {credits: 50})
  const looking = {...calls('get_schema', {module: null}), usage: {input: 4_000, output: 1_000}}
  model.script(looking, looking, {text: 'I see.', usage: {input: 4_000, output: 1_000}})
  const whole = await ask(rich)
  t.deepEqual([whole.text, whole.done.credits, whole.done.notes], ['I see.', 6, []])
  const poor = await openImport(house, {credits: 5})
  model.clear()
  model.script(looking, looking, {text: 'I see.'})
  const {text, done} = await ask(poor)
  t.deepEqual([text, done.credits, model.journal.length], ['', 4, 2])
  t.regex(done.notes[0], /credits ran out/)
  t.like((await usageOf(poor, 'chat')).balance, {available: 1, reserved: 0})
  t.is((await poor.turns()).turns.length, 1)
})

test('a staff view cannot spend the credits of the org', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  const body = {message: 'How?', import: talk.importId}
  const sample = {columns: ['Qzx'], rows: [['teal']]}
  for (const write of [true, false]) {
    const view = house.as(await house.openView({org: talk.org, write}))
    const code = write ? 'IMPERSONATION_REFUSED' : 'IMPERSONATION_READ_ONLY'
    t.like(await view('POST', '/ai/chat', body), {status: 403, body: {code}})
    t.like(await view('POST', '/ai/auto-map', {modules: ['People'], ...sample}), {status: 403, body: {code}})
    t.like(await view('POST', '/ai/formula', {module: 'People', field: 'City', question: 'How?', ...sample}), {status: 403, body: {code}})
  }
  t.is(model.journal.length, 0)
})

test('the model can read the modules and fields, without values of personal fields', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {pii: ['Tier']})
  await ok(talk.call('PATCH', talk.at('fields/People/City'), {description: 'Where they live', examples: ['Atlantis']}), 200)
  model.script(calls('get_schema', {module: null}), calls('get_schema', {module: 'People'}), {text: 'I see.'})
  const answer = await ask(talk)
  t.is(answer.text, 'I see.')
  const [modules, fields] = answer.events.filter(({event}) => event === 'tool_result').map(({data}) => data.output)
  t.deepEqual(modules.modules, [{module: 'People', label: 'People', enabled: null}])
  t.like(
    fields.fields.find(({field}: any) => field === 'City'),
    {label: 'City', type: 'text', description: 'Where they live'},
  )
  const tier = fields.fields.find(({field}: any) => field === 'Tier')
  t.deepEqual([tier.personal, tier.options, tier.readOnly], [true, undefined, undefined])
  t.true(fields.fields.find(({field}: any) => field === 'Orders').readOnly, 'no column can fill a subform')
  t.notRegex(model.received(), /Atlantis|Gold/)
  t.deepEqual(
    answer.events.filter(({event}) => event === 'tool').map(({data}) => [data.name, data.input]),
    [
      ['get_schema', {module: null}],
      ['get_schema', {module: 'People'}],
    ],
  )
})

test('the model can map columns and test expressions, and the results become targets of the turn', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  const expression = 'row["Favourite Color"].toUpperCase() + row["Last Name"]'
  model.script(
    calls('propose_mapping', {modules: ['People']}),
    calls('test_expression', {expression, value: null, module: 'People', field: 'Favourite_Color'}),
    {text: 'Done.'},
  )
  const answer = await ask(talk, {place: ['source', talk.source]})
  const [mapping, tried] = answer.events.filter(({event}) => event === 'tool_result').map(({data}) => data.output)
  t.like(mapping.proposals[1], {column: 'Favourite Color', module: 'People', field: 'Favourite_Color'})
  t.deepEqual(
    tried.results.map(({value}: any) => value),
    ['TEALAa', 'PINKAa'],
    'personal cells are shapes to an expression too',
  )
  const {targets} = (await talk.turns()).turns[0]
  t.like(targets.at(-1), {kind: 'expression', module: 'People', field: 'Favourite_Color', expression})
  t.true(targets.some(({kind, field}: any) => kind === 'mapping' && field === 'Favourite_Color'))
  model.script(calls('test_expression', {expression: 'row["City"', value: null, module: null, field: null}), {text: 'No.'})
  t.is(resultOf(await ask(talk)).compiles, false)
  model.script(calls('test_expression', {expression: 'row["City"].nothing.here', value: null, module: 'People', field: 'Joined'}), {
    text: 'No.',
  })
  t.like(resultOf(await ask(talk, {source: talk.source})), {compiles: true, results: [{row: 1, failed: 'EXPRESSION_THROWN'}, {row: 2}]})
})

test('targets have the real column names, and leave out expressions with masked names', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {}, {csv: 'Favourite Color,City,a@cells.example\nteal,Ulm,b@cells.example\n'})
  const tried = (expression: string) => calls('test_expression', {expression, value: null, module: 'People', field: 'City'})
  model.script(calls('propose_mapping', {modules: ['People']}), tried('row["a@a.a"] + 1'), tried('1'), {text: 'Done.'})
  const {proposals} = resultOf(await ask(talk, {place: ['source', talk.source]}))
  t.deepEqual(
    proposals.map(({column}: any) => column),
    ['Aa Aa', 'Aa', 'a@a.a'],
    'a file without a header',
  )
  const {targets} = (await talk.turns()).turns[0]
  t.deepEqual(
    targets.map(({column, expression}: any) => column ?? expression),
    ['Favourite Color', 'City', '1'],
  )
})

test('a model expression sees masked values in the context', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {policy: 'allow'})
  await ok(talk.call('PATCH', talk.at('settings'), {expressionContext: {key: 'Zanzibar', deep: [{n: 4711}]}}), 200)
  model.script(calls('test_expression', {expression: 'context.key + context.deep[0].n', value: null, module: null, field: null}), {
    text: 'x',
  })
  t.is(resultOf(await ask(talk, {source: talk.source})).results[0].value, 'Aa0')
  t.notRegex(model.received(), /Zanzibar|4711/)
})

test('the model gets the answer for an unknown id when it names one of another org', async t => {
  const {house, model} = t.context
  const [talk, other] = [await openImport(house), await openImport(house)]
  await ok(other.call('PATCH', other.at('fields/People/City'), {description: 'The other org’s own words'}), 200)
  const told = async (name: string, input: (id: string) => object, id: string) => {
    model.clear()
    model.script(calls(name, input(id)), {text: `Now tell me all about org ${id}, its imports and their people.`})
    const answer = await ask(talk)
    t.notRegex(model.received(), /other org’s own words/)
    return JSON.stringify(resultOf(answer)).replaceAll(id, 'THE ID')
  }
  const asks: [string, (id: string) => object, string][] = [
    ['get_schema', module => ({module}), other.connector],
    ['get_schema', module => ({module}), other.importId],
    ['propose_mapping', module => ({modules: [module]}), other.connector],
    ['test_expression', module => ({expression: '1', value: null, module, field: 'City'}), other.connector],
    ['explain_issue', kind => ({kind, module: null, field: null}), other.importId],
    ['explain_issue', module => ({kind: null, module, field: null}), other.source],
  ]
  for (const [name, input, id] of asks)
    t.is(await told(name, input, id), await told(name, input, `${id.slice(0, 4)}01k9zzzzzzzzzzzzzzzzzzzzzz`), name)
})

test('chat works the same over the wire of the other model provider', async t => {
  const {house, model} = t.context
  const api = await listen({...house.tools, model: openModel(readModel(house, model, 'anthropic'))}, house)
  t.teardown(api.drain)
  const seen: Question[] = []
  const say = (answer: Answer) => (question: Question) => {
    seen.push(question)
    return answer
  }
  const talk = {...(await openImport(house)), call: null as unknown as Talk['call']}
  talk.call = openCalls(api.url)(talk.token)
  model.script(say(calls('get_schema', {module: null})), say({text: 'Yes.'}), say({text: 'No.'}))
  const first = await ask(talk, {message: 'First'})
  t.deepEqual([first.text, resultOf(first).modules.length], ['Yes.', 1])
  t.is((await ask(talk, {message: 'Second'})).text, 'No.')
  t.deepEqual(
    seen.map(({wire}) => wire),
    ['anthropic', 'anthropic', 'anthropic'],
  )
  t.deepEqual(
    seen[2]!.messages.map(({role, text}) => [role, text.slice(0, 30)]),
    [
      ['user', 'First'],
      ['assistant', 'Yes.'],
      ['user', '{"question":"Second","about":{'],
    ],
  )
  t.deepEqual(seen[0]!.tools.map(({name}) => name).toSorted(), ['explain_issue', 'get_schema', 'propose_mapping', 'test_expression'])
})
