import {createServer, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {gzipSync} from 'node:zlib'
import test from 'ava'
import {z} from 'zod'
import {type ModelPart, openModel} from '../../../shared/assistant/model.ts'
import {ModelFailure} from '../../../shared/assistant/model-failure.ts'
import {readConfig} from '../../../shared/config.ts'

const json = {'content-type': 'application/json'}
const said = (content: string) =>
  JSON.stringify({
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    usage: {prompt_tokens: 5, completion_tokens: 5, total_tokens: 10},
    choices: [{index: 0, message: {role: 'assistant', content}, finish_reason: 'stop'}],
  })
const repeat = (response: ServerResponse, type: string, text: string) => {
  response.writeHead(200, {'content-type': type})
  const beat = setInterval(() => response.write(text), 10)
  response.once('close', () => clearInterval(beat))
}
const piece = {id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm'}
const flood = `data: ${JSON.stringify({...piece, choices: [{index: 0, delta: {content: 'y'.repeat(60_000)}, finish_reason: null}]})}\n\n`
const flow = (response: ServerResponse) => {
  while (!response.destroyed && response.write(flood));
  response.once('drain', () => flow(response))
}

const answers: Record<string, [(response: ServerResponse) => void, ModelFailure['kind']]> = {
  'ten megabytes': [response => response.writeHead(200, json).end(said('x'.repeat(10_000_000))), 'unavailable'],
  'a bomb': [
    response => response.writeHead(200, {...json, 'content-encoding': 'gzip'}).end(gzipSync(Buffer.alloc(100_000_000, 32))),
    'unavailable',
  ],
  'no characters': [response => response.writeHead(200, json).end(Buffer.from([0xff, 0xfe, 0x7b, 0x80])), 'unavailable'],
  'deep JSON': [response => response.writeHead(200, json).end('['.repeat(2_000_000)), 'unavailable'],
  'deep JSON in its words': [response => response.writeHead(200, json).end(said('['.repeat(1_000_000))), 'invalid'],
  'a prototype': [response => response.writeHead(200, json).end(said('{"__proto__": {"field": "x"}, "confidence": 1}')), 'invalid'],
  'a number without end': [response => response.writeHead(200, json).end(said('{"field": "x", "confidence": 1e999}')), 'invalid'],
  'blanks without end': [response => repeat(response, 'application/json', ' '), 'unavailable'],
}

const open = async (t: import('ava').ExecutionContext, answer: (response: ServerResponse) => void, seconds: string) => {
  const server = createServer((request, response) => void request.resume().once('end', () => answer(response)))
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const own = {MODEL_KIND: 'openai', MODEL_URL: url, MODEL_API_KEY: 'key-of-a-test', MODEL_NAME: 'm', MODEL_TIMEOUT_SECONDS: seconds}
  return openModel(readConfig(own))
}

const schema = z.object({field: z.string().nullable(), confidence: z.number()})
const signal = new AbortController().signal

for (const [name, [answer, kind]] of Object.entries(answers))
  test(`a model answer of ${name} is a failure`, async t => {
    const model = await open(t, answer, name === 'blanks without end' ? '0.3' : '60')
    const asking = model.answer({instructions: 'i', prompt: 'p', schema, maxTokens: 100, signal})
    const failure = (await t.throwsAsync(asking, {instanceOf: ModelFailure}))!
    t.is(failure.kind, kind)
    t.notRegex(`${failure.stack} ${JSON.stringify(failure)} ${failure.cause}`, /key-of-a-test/)
    t.false('field' in {})
  })

test('an endless conversation ends at its maximum length, and a silent one at its timeout', async t => {
  const listen = async (model: Awaited<ReturnType<typeof open>>) => {
    const heard: ModelPart[] = []
    const parts = model.converse({instructions: 'i', messages: [{role: 'user', text: 'x'}], tools: {}, maxSteps: 2, maxTokens: 100, signal})
    const failure = await t.throwsAsync(
      async () => {
        for await (const part of parts) heard.push(part)
      },
      {instanceOf: ModelFailure},
    )
    return {failure: failure!, characters: heard.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)}
  }
  const stream = {'content-type': 'text/event-stream'}
  const loud = await listen(await open(t, response => flow(response.writeHead(200, stream)), '60'))
  t.is(loud.failure.kind, 'unavailable')
  t.true(loud.characters > 0 && loud.characters < 8 * 1024 ** 2)
  t.true(loud.failure.usage.outputTokens > 0)
  const mute = await listen(await open(t, response => repeat(response, 'text/event-stream', ': still here\n\n'), '0.1'))
  t.is(mute.failure.message, 'The model took too long')
})

test('of a hundred tool calls at once, twenty are executed', async t => {
  const calls = Array.from({length: 100}, (_, at) => ({
    index: at,
    id: `c${at}`,
    type: 'function',
    function: {name: 'look', arguments: '{}'},
  }))
  const chunk = `data: ${JSON.stringify({...piece, choices: [{index: 0, delta: {tool_calls: calls}, finish_reason: 'tool_calls'}]})}\n\n`
  const model = await open(
    t,
    response => response.writeHead(200, {'content-type': 'text/event-stream'}).end(`${chunk}data: [DONE]\n\n`),
    '60',
  )
  let runs = 0
  const look = {description: 'Looks', input: z.object({}), run: async () => ({found: ++runs})}
  const parts = model.converse({
    instructions: 'i',
    messages: [{role: 'user', text: 'x'}],
    tools: {look},
    maxSteps: 2,
    maxTokens: 100,
    signal,
  })
  const results: unknown[] = []
  for await (const part of parts) if (part.type === 'tool_result') results.push(part.output)
  t.is(runs, 20)
  t.is(results.length, 200)
})
