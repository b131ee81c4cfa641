import anyTest, {type TestFn} from 'ava'
import {usageOf} from '../ai.ts'
import {checkFile} from '../checking.ts'
import {sumUp} from '../crediting.ts'
import {ok} from '../importing.ts'
import type {Answer, Question} from '../simulators/model/answers.ts'
import {chat, openImport, openTalking, readEvents, type Talk, type Talking, wordsOf} from '../talking.ts'
import {until} from '../until.ts'

/** One model for all: the tests take turns. */
const test = anyTest.serial as TestFn<Talking>
test.before(async t => void Object.assign(t.context, await openTalking(t, {workers: ['checks']})))
test.beforeEach(t => t.context.model.clear())

const ask = (talk: Talk, more: object = {}) => chat(talk, {message: 'How?', import: talk.importId, place: ['checks'], ...more})
const calls = (name: string, input: unknown): Answer => ({calls: [{name, input}]})
const resultOf = ({events}: Awaited<ReturnType<typeof chat>>) => events.find(({event}) => event === 'tool_result')?.data.output

test('an answer comes in parts, is kept with its price before it is done, and is told of', async t => {
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

test('the model looks at the modules and their fields', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {pii: ['Tier']})
  await ok(talk.call('PATCH', talk.at('fields/People/City'), {description: 'Where they live', examples: ['Atlantis']}), 200)
  model.script(calls('get_schema', {module: null}), calls('get_schema', {module: 'People'}), {text: 'I see.'})
  const answer = await ask(talk)
  t.is(answer.text, 'I see.')
  const [modules, fields] = answer.events.filter(({event}) => event === 'tool_result').map(({data}) => data.output)
  t.deepEqual(modules.modules, [{module: 'People', label: 'People', enabled: true}])
  t.like(
    fields.fields.find(({field}: any) => field === 'City'),
    {label: 'City', type: 'text', description: 'Where they live'},
  )
  const tier = fields.fields.find(({field}: any) => field === 'Tier')
  t.deepEqual([tier.personal, tier.options], [true, undefined])
  t.notRegex(model.received(), /Atlantis|Gold/)
  t.deepEqual(
    answer.events.filter(({event}) => event === 'tool').map(({data}) => [data.name, data.input]),
    [
      ['get_schema', {module: null}],
      ['get_schema', {module: 'People'}],
    ],
  )
})

test('the model has columns mapped and expressions tried, and what came of it are the turn’s targets', async t => {
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

test('the context and what stands in it are shapes to an expression of the model', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {policy: 'allow'})
  await ok(talk.call('PATCH', talk.at('settings'), {expressionContext: {key: 'Zanzibar', deep: [{n: 4711}]}}), 200)
  model.script(calls('test_expression', {expression: 'context.key + context.deep[0].n', value: null, module: null, field: null}), {
    text: 'x',
  })
  t.is(resultOf(await ask(talk, {source: talk.source})).results[0].value, 'Aa0')
  t.notRegex(model.received(), /Zanzibar|4711/)
})

test('a problem is explained by its kind, counts and what to do, with what may leave of its cells', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  const csv = `Last Name,Joined,City\n${['Berg,never,Ulm', 'Wolf,maybe,Bonn', ',2024-01-02,Ulm'].join('\n')}\n`
  const fields = [
    {field: 'Last_Name', mode: 'column', source: 'Last Name'},
    {field: 'Joined', mode: 'column', source: 'Joined'},
  ]
  const {path, source, problems} = await checkFile(talk, csv, {module: 'People', fields})
  t.true(problems.length >= 2)
  const importId = path.split('/').at(-1)!
  model.script(calls('explain_issue', {kind: 'invalid_value', module: null, field: null}), {text: 'Dates are missing.'})
  const place = ['issue', source.id, 'invalid_value', 'People', 'Joined']
  const answer = await chat(talk, {message: 'Why?', import: importId, place})
  const [problem] = resultOf(answer).problems
  t.like(problem, {kind: 'invalid_value', module: 'People', field: 'Joined', column: 'Joined', rows: 2, values: ['never', 'maybe']})
  t.is(typeof problem.fix, 'string')
  t.is(resultOf(answer).run, null)
  const asked = JSON.parse(JSON.parse(model.journal[0]!.body).messages.at(-1).content)
  t.deepEqual(asked.about, {kind: 'issue', problem: 'invalid_value', module: 'People', field: 'Joined'})
  await ok(talk.call('PATCH', talk.at('settings'), {aiSamplePolicy: 'deny'}), 200)
  model.clear()
  model.script(calls('explain_issue', {kind: null, module: null, field: null}), {text: 'Still.'})
  const denied = await chat(talk, {message: 'Why?', import: importId, place})
  t.is(denied.done.samples, 'none')
  t.notRegex(model.received(), /never|maybe|Berg|Wolf|Ulm/)
})

test('five steps are all there are, and a tool is told what is wrong with its arguments', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  model.faults.add({action: {type: 'toolLoop'}, times: Number.POSITIVE_INFINITY})
  const answer = await ask(talk)
  t.is(model.journal.length, 5)
  t.is(answer.done.notes.length, 1)
  t.true(answer.done.credits > 0)
  t.like((await talk.turns()).turns[0], {answer: '', notes: answer.done.notes})
  model.clear()
  const odd: [string, unknown][] = [
    ['get_schema', {module: 7}],
    ['get_schema', 'nothing'],
    ['get_schema', {module: '__proto__'}],
    ['propose_mapping', {modules: Array.from({length: 50}, () => 'People')}],
    ['test_expression', {expression: 'x'.repeat(5000)}],
    ['test_expression', {expression: 'process.env', value: 'constructor'}],
    ['explain_issue', {kind: {}}],
    ['rm_rf', {path: '/'}],
  ]
  for (const [name, input] of odd) {
    model.clear()
    model.script(calls(name, input), {text: 'Sorry.'})
    const {done, text, events} = await ask(talk)
    t.is(text, 'Sorry.', `${name} ${JSON.stringify(input)}: ${JSON.stringify(events)}`)
    t.is(done.notes.length, 0)
    const told = JSON.stringify(events.find(({event}) => event === 'tool_result')?.data.output)
    t.regex(told, /"error"|"compiles":false/, `${name} ${JSON.stringify(input)}`)
  }
})

test('what the model asks for of another org is answered as what nobody has', async t => {
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

const failures: [string, object, number, string][] = [
  ['429', {type: 'status', status: 429, retryAfter: '7'}, 503, 'MODEL_UNAVAILABLE'],
  ['a key it does not take', {type: 'status', status: 401}, 503, 'NOT_CONFIGURED'],
  ['garbage', {type: 'garbage'}, 503, 'MODEL_UNAVAILABLE'],
  ['a connection that is cut', {type: 'reset'}, 503, 'MODEL_UNAVAILABLE'],
]
for (const [what, action, status, code] of failures)
  test(`${what}: refused as everywhere, and it costs nothing`, async t => {
    const {house, model} = t.context
    const talk = await openImport(house)
    model.faults.add({action: action as never})
    const answer = await ask(talk)
    t.deepEqual([answer.status, answer.body.code], [status, code], answer.text)
    if (what === '429') t.is(answer.headers.get('retry-after'), '7')
    const {requests, failed, credits, balance} = await usageOf(talk, 'chat')
    t.deepEqual([requests, failed, credits, balance.reserved], [1, 1, 0, 0])
    t.deepEqual((await talk.turns()).turns, [])
  })

test('half an answer ends with an error, is not kept and costs nothing', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  model.script({text: 'An answer of several words that breaks off somewhere in the middle of it.'})
  model.faults.add({action: {type: 'half'}})
  const answer = await ask(talk)
  t.is(answer.status, 200)
  t.true(answer.text.length > 0)
  t.deepEqual([answer.events.at(-1)!.event, answer.events.at(-1)!.data.code], ['error', 'MODEL_UNAVAILABLE'])
  const {credits, balance} = await usageOf(talk, 'chat')
  t.deepEqual([credits, balance.reserved, (await talk.turns()).turns], [0, 0, []])
})

test('without credits nothing is asked, and what is left is told', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {credits: 3})
  const {status, body} = await ask(talk)
  t.deepEqual([status, body.code, body.balance.available], [402, 'CREDITS_EXHAUSTED', 3])
  t.is(model.journal.length, 0)
})

/** Begins a question and goes away once the first words are there. */
const leave = async (url: string, token: string, body: object) => {
  const going = new AbortController()
  const headers = {authorization: `Bearer ${token}`, 'content-type': 'application/json'}
  const response = await fetch(`${url}/ai/chat`, {method: 'POST', headers, body: JSON.stringify(body), signal: going.signal})
  const reader = response.body!.getReader()
  const {value} = await reader.read()
  going.abort()
  await reader.read().catch(() => {})
  return {status: response.status, words: wordsOf(readEvents(new TextDecoder().decode(value)))}
}

test('two hundred who go away at once leave nothing set aside, no turn, and no connection at the model', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  model.always(() => ({text: 'Words that would go on for a long while if anybody listened. '.repeat(10)}))
  model.faults.add({action: {type: 'stall'}, times: Number.POSITIVE_INFINITY})
  const body = {message: 'How?', import: talk.importId, place: ['run']}
  const left = await Promise.all(Array.from({length: 200}, () => leave(house.url, talk.token, body)))
  t.deepEqual(
    left.filter(({status, words}) => status !== 200 || words.length === 0),
    [],
  )
  await until(
    () => sumUp(house.db, talk.org),
    ({open}) => open === 0,
  )
  await until(
    () => model.journal.filter(({gone}) => gone).length,
    gone => gone === 200,
  )
  const {account, entries, grants, holds} = await sumUp(house.db, talk.org)
  t.deepEqual([entries, grants, holds], [account, account, 0])
  const {requests, failed, credits, outputTokens} = await usageOf(talk, 'chat')
  t.deepEqual([requests, failed], [200, 200])
  t.true(credits >= 200 && outputTokens > 0, 'what had come by then is paid for: the provider charges for it')
  t.deepEqual((await talk.turns()).turns, [])
})

test('a reader that does not read holds the model up, not our memory', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  const long = `${'word '.repeat(100)}\n`.repeat(2_000)
  model.script({text: long})
  const headers = {authorization: `Bearer ${talk.token}`, 'content-type': 'application/json'}
  const response = await fetch(`${house.url}/ai/chat`, {method: 'POST', headers, body: JSON.stringify({message: 'All?'})})
  const text = await response.text()
  const events = readEvents(text)
  t.is(wordsOf(events).trim(), long.trim())
  t.is(events.at(-1)!.event, 'done')
})

test('what is said of a question stays the same by the other provider’s wire', async t => {
  const {house, model} = t.context
  const seen: Question[] = []
  model.always(question => {
    seen.push(question)
    return {text: 'Yes.'}
  })
  const talk = await openImport(house)
  await ask(talk, {message: 'First'})
  await ask(talk, {message: 'Second'})
  t.deepEqual(
    seen[1]!.messages.filter(({role}) => role !== 'system').map(({role, text}) => [role, text.slice(0, 30)]),
    [
      ['user', 'First'],
      ['assistant', 'Yes.'],
      ['user', '{"question":"Second","about":{'],
    ],
  )
  t.deepEqual(seen[0]!.tools.map(({name}) => name).toSorted(), ['explain_issue', 'get_schema', 'propose_mapping', 'test_expression'])
})
