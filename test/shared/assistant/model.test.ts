import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {z} from 'zod'
import {limitAsTakenAt, type Model, type ModelPart, openModel, type ToolSet, type Usage} from '../../../shared/assistant/model.ts'
import {ModelFailure} from '../../../shared/assistant/model-failure.ts'
import {readConfig} from '../../../shared/config.ts'
import {Refusal} from '../../../shared/errors.ts'
import {type ModelSimulator, modelEnvironment, startModel} from '../../simulators/model.ts'
import {until} from '../../support/until.ts'

const test = anyTest as TestFn
const kinds = ['openai', 'anthropic'] as const
type Kind = (typeof kinds)[number]

const Said = z.object({field: z.string().nullable(), confidence: z.number()})
const never = new AbortController().signal

const open = async (
  t: ExecutionContext,
  kind: Kind,
  environment: Record<string, string> = {},
): Promise<{model: Model; away: ModelSimulator}> => {
  const away = await startModel()
  t.teardown(away.stop)
  return {away, model: openModel(readConfig({...modelEnvironment(away, kind), ...environment}))}
}

const question = {instructions: 'Map the column.', prompt: 'The column is Phone', schema: Said, maxTokens: 200, signal: never}
const talk = {instructions: 'You help.', messages: [{role: 'user' as const, text: 'Which field?'}], tools: {}, maxSteps: 5, maxTokens: 300}

const collect = async (parts: AsyncIterable<ModelPart>, into: ModelPart[] = []): Promise<ModelPart[]> => {
  for await (const part of parts) into.push(part)
  return into
}

const failure = async (t: ExecutionContext, asking: Promise<unknown>): Promise<ModelFailure> =>
  (await t.throwsAsync(asking, {instanceOf: ModelFailure}))!

test('without a model every call is refused, and a partial configuration is rejected', async t => {
  const model = openModel(readConfig({}))
  t.false(model.isConfigured)
  t.is((await t.throwsAsync(model.answer(question), {instanceOf: Refusal}))!.code, 'NOT_CONFIGURED')
  t.is((await t.throwsAsync(collect(model.converse({...talk, signal: never})), {instanceOf: Refusal}))!.code, 'NOT_CONFIGURED')
  const {message} = t.throws(() => readConfig({MODEL_KIND: 'openai', MODEL_URL: 'https://models.example/v1'}))
  t.regex(message, /Set MODEL_API_KEY, MODEL_NAME$/)
})

for (const kind of kinds) {
  test(`${kind}: an answer is validated by its schema, and its usage is returned`, async t => {
    const {model, away} = await open(t, kind)
    away.script({json: {field: 'Phone', confidence: 0.9}, usage: {input: 120, output: 12}})
    const answered = await model.answer(question)
    t.deepEqual(answered, {value: {field: 'Phone', confidence: 0.9}, usage: {inputTokens: 120, outputTokens: 12}})
    const [entry] = away.journal
    t.is(away.journal.length, 1)
    const body = JSON.parse(entry!.body)
    t.is(body.max_tokens, 200)
    t.true(entry!.body.includes('The column is Phone') && entry!.body.includes('Map the column.'))
    t.true(entry!.body.includes('confidence'), 'the schema goes along')
  })

  test(`${kind}: an answer that violates the schema is invalid, and its usage is known`, async t => {
    const {model, away} = await open(t, kind)
    away.faults.add({action: {type: 'wrongSchema'}})
    const wrong = await failure(t, model.answer(question))
    t.is(wrong.kind, 'invalid')
    t.true(wrong.usage.inputTokens > 0)
    away.script(
      {json: {field: 'Phone', confidence: 'very'}, usage: {input: 10, output: 2}},
      {text: 'I would rather not', usage: {input: 9, output: 3}},
    )
    t.like(await failure(t, model.answer(question)), {kind: 'invalid', usage: {inputTokens: 10, outputTokens: 2}})
    t.like(await failure(t, model.answer(question)), {kind: 'invalid'})
  })

  test(`${kind}: each failure has its kind, is not retried, and does not quote the provider`, async t => {
    const {model, away} = await open(t, kind)
    const fail = async (action: Parameters<typeof away.faults.add>[0]['action']) => {
      away.clear()
      away.faults.add({action})
      const failed = await failure(t, model.answer(question))
      t.is(away.journal.length, 1, action.type)
      t.notRegex(`${failed.message} ${failed.stack} ${failed.cause}`, /column is Phone/)
      return failed
    }
    t.like(await fail({type: 'status', status: 429, retryAfter: '7', echo: true}), {kind: 'unavailable', status: 429, retryAfterMs: 7000})
    t.like(await fail({type: 'status', status: 500, echo: true}), {kind: 'unavailable', status: 500, retryAfterMs: null})
    t.like(await fail({type: 'status', status: 400, echo: true}), {kind: 'refused', status: 400})
    t.like(await fail({type: 'reset'}), {kind: 'unavailable'})
    t.like(await fail({type: 'half'}), {kind: 'unavailable'})
    t.like(await fail({type: 'garbage'}), {kind: 'unavailable'})
    const elsewhere = await startModel()
    t.teardown(elsewhere.stop)
    t.like(await fail({type: 'redirect', to: `${elsewhere.url}/chat/completions`}), {kind: 'unavailable'})
    t.is(elsewhere.journal.length, 0, 'no redirect carries the prompt elsewhere')
  })

  test(`${kind}: a wrong key is refused, a slow model times out, and an abort closes the connection`, async t => {
    const {model, away} = await open(t, kind, {MODEL_TIMEOUT_SECONDS: '0.3'})
    away.faults.add({action: {type: 'hold'}})
    t.like(await failure(t, model.answer(question)), {kind: 'unavailable', message: 'The model took too long'})
    await until(() => away.journal.every(({gone}) => gone), Boolean)
    const patient = await open(t, kind)
    patient.away.faults.add({action: {type: 'hold'}})
    const gone = new AbortController()
    const asking = t.throwsAsync(patient.model.answer({...question, signal: gone.signal}), {message: 'gone'})
    await until(() => patient.away.faults.held(), Boolean)
    gone.abort(new Error('gone'))
    await asking
    await until(() => patient.away.journal[0]!.gone, Boolean)
    const stranger = openModel(readConfig({...modelEnvironment(away, kind), MODEL_API_KEY: 'another'}))
    t.like(await failure(t, stranger.answer(question)), {kind: 'refused', status: 401})
  })

  test(`${kind}: a conversation streams text, calls its tools and adds up the usage of its steps`, async t => {
    const {model, away} = await open(t, kind)
    const asked: unknown[] = []
    away.script(
      {text: 'Let me look.', calls: [{name: 'fields', input: {module: 'Leads'}}], usage: {input: 40, output: 8}},
      {text: 'It is the field Phone.', usage: {input: 60, output: 9}},
    )
    const tools: ToolSet = {
      fields: {
        description: 'The fields',
        input: z.object({module: z.string()}),
        async run(input) {
          asked.push(input)
          return {fields: ['Phone']}
        },
      },
    }
    const spent: Usage[] = []
    const parts = await collect(model.converse({...talk, tools, signal: never, spent: usage => void spent.push(usage)}))
    t.deepEqual(asked, [{module: 'Leads'}])
    const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
    t.is(text, 'Let me look.It is the field Phone.')
    t.like(
      parts.find(({type}) => type === 'tool'),
      {name: 'fields', input: {module: 'Leads'}},
    )
    t.like(
      parts.find(({type}) => type === 'tool_result'),
      {name: 'fields', output: {fields: ['Phone']}},
    )
    t.deepEqual(parts.at(-1), {type: 'done', usage: {inputTokens: 100, outputTokens: 17}, isCut: false})
    t.deepEqual(spent.at(-1), {inputTokens: 100, outputTokens: 17})
    t.true(away.journal[1]!.body.includes('Phone'), 'the tool’s answer goes back')
  })

  test(`${kind}: the error of a tool is not sent, and endless tool calls are stopped`, async t => {
    const {model, away} = await open(t, kind)
    away.faults.add({action: {type: 'toolLoop'}, times: Number.POSITIVE_INFINITY})
    const run = () => Promise.reject(new Error('row 3 holds canary-4711'))
    let reserved = 0
    const mayCost = async () => ++reserved > 0
    const tools: ToolSet = {explain: {description: 'Explains', input: z.object({}), run}}
    const parts = await collect(model.converse({...talk, tools, maxSteps: 3, signal: never, mayCost}))
    t.is(away.journal.length, 3)
    t.is(reserved, 2, 'before each further step')
    t.notRegex(away.received(), /canary/)
    t.deepEqual(
      parts.filter(({type}) => type === 'tool_result').map(part => 'output' in part && part.output),
      [{error: 'This tool failed'}, {error: 'This tool failed'}, {error: 'This tool failed'}],
    )
    t.is(parts.at(-1)!.type, 'done')
  })

  test(`${kind}: the end of a conversation says whether its last answer was cut off`, async t => {
    const {model, away} = await open(t, kind)
    away.script({text: 'It is the', isCut: true})
    t.like((await collect(model.converse({...talk, signal: never}))).at(-1), {type: 'done', isCut: true})
  })

  test(`${kind}: a conversation that breaks off or is aborted reports its usage so far`, async t => {
    const {model, away} = await open(t, kind)
    const words = 'A rather long answer, which is told in a good many pieces and which nobody hears to its end.'
    away.script({text: words}, {text: words}, {text: words})
    away.faults.add({action: {type: 'half'}})
    const heard: ModelPart[] = []
    const broken = await failure(t, collect(model.converse({...talk, signal: never}), heard))
    t.is(broken.kind, 'unavailable')
    t.true(heard.length > 0)
    t.true(broken.usage.outputTokens > 0 && broken.usage.inputTokens > 0)
    away.faults.add({action: {type: 'stall'}})
    const gone = new AbortController()
    const spent: Usage[] = []
    const told: ModelPart[] = []
    const listening = t.throwsAsync(collect(model.converse({...talk, signal: gone.signal, spent: usage => void spent.push(usage)}), told), {
      message: 'gone',
    })
    await until(() => away.faults.held() && told.length > 0, Boolean)
    gone.abort(new Error('gone'))
    await listening
    const characters = told.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('').length
    t.is(spent.at(-1)!.outputTokens, Math.ceil(characters / 4))
    await until(() => away.journal[1]!.gone, Boolean)
    away.clear()
    away.faults.add({action: {type: 'status', status: 429, retryAfter: '3', echo: true}})
    t.like(await failure(t, collect(model.converse({...talk, signal: never}))), {kind: 'unavailable', status: 429, retryAfterMs: 3000})
    away.faults.add({action: {type: 'garbage'}})
    t.is((await failure(t, collect(model.converse({...talk, signal: never})))).kind, 'unavailable')
  })

  test(`${kind}: without counts from the provider, four characters count as a token`, async t => {
    const {model, away} = await open(t, kind)
    away.script({json: {field: 'Phone', confidence: 1}, usage: kind === 'openai' ? null : {input: -5, output: 3}})
    const {usage} = await model.answer(question)
    t.is(usage.inputTokens, Math.ceil('Map the column.The column is Phone'.length / 4))
    t.true(usage.outputTokens > 0)
    away.script({json: {field: 'Phone', confidence: 1}, usage: {input: 0, output: 0}})
    t.deepEqual((await model.answer(question)).usage.inputTokens, usage.inputTokens, 'nobody answers what was not read')
  })
}

test('anthropic: a model with native structured output receives the schema that way', async t => {
  const {model, away} = await open(t, 'anthropic', {MODEL_NAME: 'claude-sonnet-4-5'})
  away.script({json: {field: null, confidence: 0.1}})
  t.deepEqual((await model.answer(question)).value, {field: null, confidence: 0.1})
  t.truthy(JSON.parse(away.journal[0]!.body).output_config.format.schema)
})

test('openai: the schema is sent as strict, and OpenAI itself receives the token limit by its own name', async t => {
  const {model, away} = await open(t, 'openai')
  away.script({json: {field: null, confidence: 0.1}})
  await model.answer(question)
  const {response_format: format} = JSON.parse(away.journal[0]!.body)
  t.like(format.json_schema.schema, {required: ['field', 'confidence'], additionalProperties: false})
  const body = {model: 'any', max_tokens: 5}
  t.deepEqual(limitAsTakenAt('https://api.openai.com/v1')(body), {model: 'any', max_completion_tokens: 5})
  t.deepEqual(limitAsTakenAt('https://openai.com.example/v1')(body), body)
})
