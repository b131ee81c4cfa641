import {setImmediate as turn} from 'node:timers/promises'
import anyTest, {type TestFn} from 'ava'
import {streamChat} from '../../api/chat-stream.ts'
import {listen} from '../../api/listen.ts'
import {openModel} from '../../shared/assistant/model.ts'
import {usageOf} from '../support/ai.ts'
import {sumUp} from '../support/ai-credits.ts'
import {openCalls} from '../support/client.ts'
import {calls, chat, openImport, openTalking, readEvents, type Talk, type Talking, wordsOf} from '../support/conversations.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one model. */
const test = anyTest.serial as TestFn<Talking>
test.before(async t => void Object.assign(t.context, await openTalking(t)))
test.beforeEach(t => t.context.model.clear())

const ask = (talk: Talk, more: object = {}) => chat(talk, {message: 'How?', import: talk.importId, place: ['checks'], ...more})

test('an answer has at most five steps, and a tool call with wrong arguments gets an error', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  model.faults.add({action: {type: 'toolLoop'}, times: Number.POSITIVE_INFINITY})
  const answer = await ask(talk)
  t.is(model.journal.length, 5)
  t.deepEqual(answer.done.notes, ['The answer ends after 5 steps. Ask for less at once'])
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

test('an answer cut off at its maximum length says so', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  model.script(calls('get_schema', {module: null}), {text: 'The rows are', isCut: true})
  const {text, done} = await ask(talk)
  t.is(text, 'The rows are')
  t.regex(done.notes[0], /cut off/)
  t.like((await talk.turns()).turns[0], {answer: text, notes: done.notes})
})

const failures: [string, object, number, string][] = [
  ['429', {type: 'status', status: 429, retryAfter: '7'}, 503, 'MODEL_UNAVAILABLE'],
  ['a key it does not take', {type: 'status', status: 401}, 503, 'NOT_CONFIGURED'],
  ['garbage', {type: 'garbage'}, 503, 'MODEL_UNAVAILABLE'],
  ['a connection that is cut', {type: 'reset'}, 503, 'MODEL_UNAVAILABLE'],
]
for (const [what, action, status, code] of failures)
  test(`${what}: a failed question gets an error and costs nothing`, async t => {
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

test('an answer cut halfway ends with an error, is not kept and costs nothing', async t => {
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

test('a question without enough credits is refused with the balance, and the model is not called', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {credits: 1})
  const {status, body} = await ask(talk)
  t.deepEqual([status, body.code, body.balance.available], [402, 'CREDITS_EXHAUSTED', 1])
  t.is(model.journal.length, 0)
})

test('a question without a model is refused, and no credits are reserved', async t => {
  const {house, model} = t.context
  const api = await listen({...house.tools, model: openModel({...house.config, MODEL_KIND: undefined})}, house)
  t.teardown(api.drain)
  const talk = await openImport(house)
  const {status, body} = await ask({...talk, call: openCalls(api.url)(talk.token)})
  t.deepEqual([status, body.code], [503, 'NOT_CONFIGURED'])
  const {requests, balance} = await usageOf(talk, 'chat')
  t.deepEqual([requests ?? 0, balance.reserved, model.journal.length], [0, 0, 0])
})

/** Sends a question and reads the answer until the signal aborts. Calls `hears` at the first text. */
const listenUntil = async (url: string, token: string, body: object, {signal, hears}: {signal: AbortSignal; hears(): void}) => {
  const headers = {authorization: `Bearer ${token}`, 'content-type': 'application/json'}
  const response = await fetch(`${url}/ai/chat`, {method: 'POST', headers, body: JSON.stringify(body), signal})
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (/event: text\n.*\n\n/.test(text)) hears()
  }
  return text
}

test('two hundred clients that disconnect leave no reservation, turn or model connection', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  model.always(() => ({text: 'Words that would go on for a long while if anybody listened. '.repeat(10)}))
  model.faults.add({action: {type: 'hold'}, times: 60})
  model.faults.add({action: {type: 'stall'}, times: 140})
  const body = {message: 'How?', import: talk.importId, place: ['run']}
  const going = new AbortController()
  const heard = new Set<number>()
  const left = Array.from({length: 200}, (_, n) =>
    listenUntil(house.url, talk.token, body, {signal: going.signal, hears: () => heard.add(n)}).then(
      text => text,
      error => error.name,
    ),
  )
  await until(
    () => [model.journal.length, heard.size],
    ([asked, telling]) => asked === 200 && telling === 140,
    80,
  )
  going.abort()
  t.deepEqual(new Set(await Promise.all(left)), new Set(['AbortError']))
  await until(
    () => sumUp(house.db, talk.org),
    ({open}) => open === 0,
    80,
  )
  await until(
    () => model.journal.filter(({gone}) => gone).length,
    gone => gone === 200,
    80,
  )
  const {account, entries, grants, holds} = await sumUp(house.db, talk.org)
  t.deepEqual([entries, grants, holds], [account, account, 0])
  const {requests, failed, credits, outputTokens} = await usageOf(talk, 'chat')
  t.deepEqual([requests, failed], [200, 200])
  t.true(credits >= 140 && outputTokens > 0, 'what had come by then is paid for: the provider charges for it')
  t.deepEqual((await talk.turns()).turns, [])
})

test('a client that does not read slows the model down and does not fill our memory', async t => {
  const {house} = t.context
  const most = 400
  let said = 0
  const done = {
    turn: null,
    notes: [],
    samples: 'none',
    usage: {inputTokens: 0, outputTokens: 0},
    credits: 1,
    balance: null as never,
  } as const
  const {body} = streamChat({...house.tools, request: {signal: new AbortController().signal}}, 'org_slow', async ({say}) => {
    for (; said < most; said++) await say({type: 'text', text: 'word '.repeat(200)})
    return {...done, notes: []}
  })
  for (let n = 0; n < 100; n++) await turn()
  t.true(said > 0 && said < most / 2, `${said} were said to nobody`)
  let text = ''
  for await (const chunk of body as AsyncIterable<Buffer>) text += chunk
  t.deepEqual([readEvents(text).length, wordsOf(readEvents(text)).length, readEvents(text).at(-1)!.event], [most + 1, most * 1000, 'done'])
})
