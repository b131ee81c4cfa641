import type * as ai from 'ai'
import type {z} from 'zod'
import type {Config} from '../config.ts'
import {ModelFailure, modelNotConfigured} from './model-failure.ts'
import {addUsage, counting, nextStep, nothing, type Step, tokensIn, type Usage, usageOf, usageOfSteps} from './token-count.ts'

export {addUsage, charactersPerToken, nothing, type Usage} from './token-count.ts'

export type Turn = {role: 'user' | 'assistant'; text: string}

/** What `run` answers is sent to the model as it is. What it throws is not: the model is told that the tool failed, and nothing else. */
export type ModelTool = {description: string; input: z.ZodType; run(input: never, signal: AbortSignal): Promise<unknown>}
export type ToolSet = Record<string, ModelTool>

export type Part =
  | {type: 'text'; text: string}
  | {type: 'tool'; name: string; input: unknown; id: string}
  | {type: 'tool_result'; name: string; id: string; output: unknown}
  | {type: 'done'; usage: Usage}

type Question<T> = {instructions: string; prompt: string; schema: z.ZodType<T>; maxTokens: number; signal: AbortSignal}
type Conversation = {
  instructions: string
  messages: Turn[]
  tools: ToolSet
  /** How often the model may be asked, tools included. */
  maxSteps: number
  /** Of each step's answer. */
  maxTokens: number
  signal: AbortSignal
  /** Told what it has come to so far, whenever that grows: all there is to go by should the conversation break off. */
  spent?: (usage: Usage) => void
  /** Asked before each further step, with what all steps and that one may come to. Where the answer is false, the conversation ends. */
  mayCost?: (total: Usage) => Promise<boolean>
}

/**
 * The door to a model, and the only one; whatever is handed in here leaves the server. Nothing is tried twice: whoever asks waits, and can ask
 * again. Throws a ModelFailure, the Refusal NOT_CONFIGURED, or the reason of `signal`, whose abort closes the provider's connection.
 */
export type Model = {
  /** Whether there is one: without it every call is refused with NOT_CONFIGURED, and nothing is sent. */
  isConfigured: boolean
  /** One answer held to a schema. Strict providers take objects of required members only: no records, no optional ones. */
  answer<T>(asked: Question<T>): Promise<{value: T; usage: Usage}>
  /** A conversation with tools, as a stream of parts that ends with `done`. */
  converse(asked: Conversation): AsyncIterable<Part>
}

type Settings = Pick<Config, 'MODEL_KIND' | 'MODEL_URL' | 'MODEL_API_KEY' | 'MODEL_NAME' | 'MODEL_TIMEOUT_SECONDS'>

/** A conversation has several answers. */
const conversationTimes = 5
/** Of one answer's bytes: far beyond what `maxTokens` allows. */
const mostBytes = 8 * 1024 ** 2

export const openModel = (settings: Settings): Model => {
  const connect = connector(settings)
  const timeoutMs = settings.MODEL_TIMEOUT_SECONDS * 1000
  return {
    isConfigured: settings.MODEL_KIND !== undefined,
    async answer(asked) {
      const {sdk, model} = await connect()
      return within(sdk, timeoutMs, asked.signal, signal => answer(sdk, model, {...asked, signal}))
    },
    async *converse(asked) {
      const {sdk, model} = await connect()
      const late = AbortSignal.timeout(timeoutMs * conversationTimes)
      let usage = nothing
      const spent = (now: Usage) => {
        usage = now
        asked.spent?.(now)
      }
      try {
        yield* converse(sdk, model, {...asked, spent, signal: AbortSignal.any([asked.signal, late])})
      } catch (error) {
        throw failureOf(sdk, error, {given: asked.signal, late, usage})
      }
    },
  }
}

/** The packages are large, and most processes never ask: they are loaded with the first question. */
const connector = ({MODEL_KIND: kind, MODEL_URL: url, MODEL_API_KEY: key, MODEL_NAME: name}: Settings) => {
  let opening: Promise<Sdk> | null = null
  return async (): Promise<Sdk> => {
    if (kind === undefined || url === undefined || key === undefined || name === undefined) throw modelNotConfigured()
    opening ??= open({kind, url, key, name})
    return opening
  }
}

type Sdk = {sdk: typeof ai; model: ai.LanguageModel}
type Provider = {kind: 'openai' | 'anthropic'; url: string; key: string; name: string}

const open = async ({kind, url, key, name}: Provider): Promise<Sdk> => {
  const sdk = await import('ai')
  // Its warnings go to the console otherwise, and may hold what was asked.
  Object.assign(globalThis, {AI_SDK_LOG_WARNINGS: false})
  const baseURL = url.replace(/\/+$/, '')
  if (kind === 'anthropic') {
    const {createAnthropic} = await import('@ai-sdk/anthropic')
    return {sdk, model: createAnthropic({baseURL, apiKey: key, fetch: send})(name)}
  }
  const {createOpenAICompatible} = await import('@ai-sdk/openai-compatible')
  const provider = createOpenAICompatible({
    ...{name: 'model', baseURL, apiKey: key, fetch: send},
    ...{includeUsage: true, supportsStructuredOutputs: true, transformRequestBody: limitAsTakenAt(baseURL)},
  })
  return {sdk, model: provider.chatModel(name)}
}

/** OpenAI's own newer models refuse `max_tokens`, which everything else that speaks like them takes. Source: its API reference, create chat completion. */
export const limitAsTakenAt =
  (url: string) =>
  (body: Record<string, unknown>): Record<string, unknown> => {
    if (!/(^|\.)openai\.(com|azure\.com)$/.test(new URL(url).hostname)) return body
    const {max_tokens: most, ...rest} = body
    return {...rest, max_completion_tokens: most}
  }

/** To the configured address alone: no redirect is followed, which would carry the prompt elsewhere, and no answer is read without end. */
const send: typeof fetch = async (input, init) => {
  const answered = await fetch(input, {...init, redirect: 'error'})
  if (!answered.body) return answered
  let bytes = 0
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > mostBytes) controller.error(new TypeError('The answer is too long'))
      else controller.enqueue(chunk)
    },
  })
  const {status, statusText, headers} = answered
  return new Response(answered.body.pipeThrough(bounded), {status, statusText, headers})
}

/** Nobody outside is told of a question but the provider itself. */
const quiet = {maxRetries: 0, telemetry: {isEnabled: false}} as const

const answer = async <T>(sdk: Sdk['sdk'], model: Sdk['model'], {instructions, prompt, schema, maxTokens, signal}: Question<T>) => {
  const result = await sdk.generateText({
    ...{model, instructions, prompt, ...quiet, maxOutputTokens: maxTokens, abortSignal: signal},
    output: sdk.Output.object({schema}),
  })
  const estimate = {inputTokens: tokensIn(instructions + prompt), outputTokens: tokensIn(result.text)}
  const usage = usageOf(result.totalUsage, estimate)
  try {
    return {value: result.output, usage}
  } catch (error) {
    // Read only here: it may be cut short by its length, or be nothing at all.
    throw sdk.NoOutputGeneratedError.isInstance(error) ? invalidAnswer(usage) : error
  }
}

const within = async <T>(sdk: Sdk['sdk'], ms: number, given: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const late = AbortSignal.timeout(ms)
  try {
    return await ask(AbortSignal.any([given, late]))
  } catch (error) {
    throw failureOf(sdk, error, {given, late})
  }
}

async function* converse(sdk: Sdk['sdk'], model: Sdk['model'], asked: Conversation): AsyncGenerator<Part> {
  const {instructions, messages, tools, maxSteps, maxTokens, signal, spent = () => {}, mayCost = async () => true} = asked
  const begun = tokensIn(instructions + messages.map(({text}) => text).join(''))
  const isTooDear = async ({steps}: {steps: readonly Step[]}) =>
    !(await mayCost(addUsage(usageOfSteps(steps, begun), nextStep(steps, maxTokens))))
  const result = sdk.streamText({
    ...{model, instructions, ...quiet, maxOutputTokens: maxTokens, abortSignal: signal, stopWhen: [sdk.isStepCount(maxSteps), isTooDear]},
    messages: messages.map(({role, text}) => ({role, content: text})),
    tools: toolsOf(sdk, tools),
    // Told by the stream's own part.
    onError: () => {},
  })
  const count = counting(begun, spent)
  let isOver = false
  for await (const part of result.stream) {
    if (part.type === 'start-step') count.begin()
    else if (part.type === 'text-delta') {
      count.streamed(part.text)
      yield {type: 'text', text: part.text}
    } else if (part.type === 'tool-call') {
      count.streamed(JSON.stringify(part.input ?? null))
      yield {type: 'tool', name: part.toolName, input: part.input, id: part.toolCallId}
    } else if (part.type === 'tool-result') {
      count.read(JSON.stringify(part.output ?? null))
      yield {type: 'tool_result', name: part.toolName, id: part.toolCallId, output: part.output}
    } else if (part.type === 'tool-error') {
      yield {type: 'tool_result', name: part.toolName, id: part.toolCallId, output: toolFailed}
    } else if (part.type === 'finish-step') {
      // A provider that broke off ends the step too.
      if (part.finishReason === 'error') throw brokenOff()
      count.step(part.usage)
    } else if (part.type === 'error') throw part.error
    else if (part.type === 'abort') signal.throwIfAborted()
    else if (part.type === 'finish') isOver = true
  }
  if (!isOver) throw brokenOff()
  yield {type: 'done', usage: count.total()}
}

const toolFailed = {error: 'This tool failed'}

/** Of one conversation: a single answer of a model may call as many as it likes. */
const mostCalls = 20
const tooManyCalls = {error: `At most ${mostCalls} calls are answered: say what you know by now`}

const toolsOf = (sdk: Sdk['sdk'], tools: ToolSet): ai.ToolSet => {
  let calls = 0
  return Object.fromEntries(
    Object.entries(tools).map(([name, {description, input, run}]) => {
      const execute = async (given: unknown, {abortSignal}: {abortSignal?: AbortSignal | undefined}) => {
        if (++calls > mostCalls) return tooManyCalls
        return run(given as never, abortSignal ?? new AbortController().signal).catch(() => toolFailed)
      }
      return [name, sdk.tool({description, inputSchema: input as z.ZodType<unknown>, execute})]
    }),
  )
}

const invalidAnswer = (usage: Usage) => new ModelFailure('The answer is not what was asked for', {kind: 'invalid', usage})
const brokenOff = () => new ModelFailure('The answer broke off', {kind: 'unavailable'})

/** `usage`: what is known of it besides, or nothing. */
type Ended = {given: AbortSignal; late: AbortSignal; usage?: Usage}

const failureOf = (sdk: Sdk['sdk'], error: unknown, {given, late, usage}: Ended): unknown => {
  if (given.aborted) return given.reason
  if (late.aborted) return new ModelFailure('The model took too long', {kind: 'unavailable', ...(usage && {usage})})
  const failure = error instanceof ModelFailure ? error : judge(sdk, error)
  return usage ? new ModelFailure(failure.message, {...failure, usage}) : failure
}

/** By kind and status alone: a provider's words, and those of the packages about them, may repeat the question. */
const judge = (sdk: Sdk['sdk'], error: unknown): ModelFailure => {
  if (sdk.NoObjectGeneratedError.isInstance(error)) return invalidAnswer(usageOf(error.usage, nothing))
  if (!sdk.APICallError.isInstance(error)) return brokenOff()
  const {statusCode: status = null, responseHeaders} = error
  // 2xx and not readable is a broken answer; no status at all is no answer.
  const isRefusal = status !== null && status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status)
  const message = status === null ? 'The model was not reached' : `The model answered ${status}`
  return new ModelFailure(message, {kind: isRefusal ? 'refused' : 'unavailable', status, retryAfterMs: waitOf(responseHeaders)})
}

const waitOf = (headers: Record<string, string> | undefined): number | null => {
  const said = headers?.['retry-after']
  if (said === undefined) return null
  const seconds = /^\d+$/.test(said) ? Number(said) : (Date.parse(said) - Date.now()) / 1000
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null
}
