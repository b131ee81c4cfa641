import type * as ai from 'ai'
import type {z} from 'zod'
import type {Config} from '../config.ts'
import {ModelFailure, modelNotConfigured} from './model-failure.ts'
import {addUsage, counting, nextStep, nothing, type Step, tokensIn, type Usage, usageOf, usageOfSteps} from './token-count.ts'

export {addUsage, charactersPerToken, nothing, type Usage} from './token-count.ts'

export type ModelTurn = {role: 'user' | 'assistant'; text: string}

/**
 * A tool that the model can call. The result of `run` is sent to the model unchanged. If `run` throws, the model only learns that the tool
 * failed.
 */
export type ModelTool = {description: string; input: z.ZodType; run(input: never, signal: AbortSignal): Promise<unknown>}
export type ToolSet = Record<string, ModelTool>

export type ModelPart =
  | {type: 'text'; text: string}
  | {type: 'tool'; name: string; input: unknown; id: string}
  | {type: 'tool_result'; name: string; id: string; output: unknown}
  | {type: 'done'; usage: Usage; isCut: boolean}

type Question<T> = {instructions: string; prompt: string; schema: z.ZodType<T>; maxTokens: number; signal: AbortSignal}
type Conversation = {
  instructions: string
  messages: ModelTurn[]
  tools: ToolSet
  /** Maximum number of model calls, including those after tools. */
  maxSteps: number
  maxTokens: number
  signal: AbortSignal
  /** Called with the usage so far whenever it grows. If the caller aborts the conversation, no other record of the usage exists. */
  spent?: (usage: Usage) => void
  /** Called before each further step with the usage so far plus the maximum of that step. If it returns false, the conversation ends. */
  mayCost?: (total: Usage) => Promise<boolean>
}

/**
 * The only access to a model; all data passed here leaves the server. Calls are not retried, because a user waits and can try again. A failed
 * call throws a ModelFailure, the Refusal NOT_CONFIGURED, or the reason of `signal`. If `signal` aborts, the connection to the provider is
 * closed.
 */
export type Model = {
  /** Whether a model is configured. If not, every call is refused with NOT_CONFIGURED and nothing is sent. */
  isConfigured: boolean
  /**
   * Returns one answer that matches a schema. Strict providers accept only objects whose properties are all required, so the schema must
   * have no records and no optional properties.
   */
  answer<T>(conversation: Question<T>): Promise<{value: T; usage: Usage}>
  /** Runs a conversation with tools and streams its parts; the last is `done`. `isCut`: its last step reached `maxTokens`. */
  converse(conversation: Conversation): AsyncIterable<ModelPart>
}

type Settings = Pick<Config, 'MODEL_KIND' | 'MODEL_URL' | 'MODEL_API_KEY' | 'MODEL_NAME' | 'MODEL_TIMEOUT_SECONDS'>

/** The maximum time of a conversation as a multiple of the limit of one answer. */
const conversationTimes = 5
/** Maximum bytes of one answer, far more than `maxTokens` allows. */
const mostBytes = 8 * 1024 ** 2

export const openModel = (settings: Settings): Model => {
  const connect = connector(settings)
  const timeoutMs = settings.MODEL_TIMEOUT_SECONDS * 1000
  return {
    isConfigured: settings.MODEL_KIND !== undefined,
    async answer(conversation) {
      const {sdk, model} = await connect()
      return within(sdk, timeoutMs, conversation.signal, signal => answer(sdk, model, {...conversation, signal}))
    },
    async *converse(conversation) {
      const {sdk, model} = await connect()
      const late = AbortSignal.timeout(timeoutMs * conversationTimes)
      let usage = nothing
      const spent = (now: Usage) => {
        usage = now
        conversation.spent?.(now)
      }
      try {
        yield* converse(sdk, model, {...conversation, spent, signal: AbortSignal.any([conversation.signal, late])})
      } catch (error) {
        throw failureOf(sdk, error, {given: conversation.signal, late, usage})
      }
    },
  }
}

/** Loads the packages on first use, because they are large and most processes never use a model. */
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
  // The package would write its warnings to the console, and they may contain prompts.
  Object.assign(globalThis, {AI_SDK_LOG_WARNINGS: false})
  const baseURL = url.replace(/\/+$/, '')
  if (kind === 'anthropic') {
    const {createAnthropic} = await import('@ai-sdk/anthropic')
    return {sdk, model: createAnthropic({baseURL, apiKey: key, fetch: send})(name)}
  }
  const {createOpenAICompatible} = await import('@ai-sdk/openai-compatible')
  const provider = createOpenAICompatible({
    name: 'model',
    baseURL,
    apiKey: key,
    fetch: send,
    includeUsage: true,
    supportsStructuredOutputs: true,
    transformRequestBody: limitAsTakenAt(baseURL),
  })
  return {sdk, model: provider.chatModel(name)}
}

/**
 * Returns a function that renames the token limit in a request body if the provider needs it. OpenAI's newer models reject `max_tokens`, which
 * all other compatible servers accept. Source: OpenAI API reference, create chat completion.
 */
export const limitAsTakenAt =
  (url: string) =>
  (body: Record<string, unknown>): Record<string, unknown> => {
    if (!/(^|\.)openai\.(com|azure\.com)$/.test(new URL(url).hostname)) return body
    const {max_tokens: most, ...rest} = body
    return {...rest, max_completion_tokens: most}
  }

/**
 * Sends a request only to the configured address. Redirects are not followed, because they would send the prompt elsewhere. The size of the
 * answer is limited.
 */
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

/** Options for calls of the package: no retries, and no telemetry to third parties. */
const quiet = {maxRetries: 0, telemetry: {isEnabled: false}} as const

const answer = async <T>(sdk: Sdk['sdk'], model: Sdk['model'], {instructions, prompt, schema, maxTokens, signal}: Question<T>) => {
  const result = await sdk.generateText({
    model,
    instructions,
    prompt,
    ...quiet,
    maxOutputTokens: maxTokens,
    abortSignal: signal,
    output: sdk.Output.object({schema}),
  })
  const estimate = {inputTokens: tokensIn(instructions + prompt), outputTokens: tokensIn(result.text)}
  const usage = usageOf(result.totalUsage, estimate)
  try {
    return {value: result.output, usage}
  } catch (error) {
    // If the answer was cut off or is empty, accessing `output` throws.
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

async function* converse(sdk: Sdk['sdk'], model: Sdk['model'], conversation: Conversation): AsyncGenerator<ModelPart> {
  const {instructions, messages, tools: toolSet, maxSteps, maxTokens, signal, spent = () => {}, mayCost = async () => true} = conversation
  const begun = tokensIn(instructions + messages.map(({text}) => text).join(''))
  // The last step is followed by no other, so nothing is reserved after it.
  const isTooDear = async ({steps}: {steps: readonly Step[]}) =>
    steps.length < maxSteps && !(await mayCost(addUsage(usageOfSteps(steps, begun), nextStep(steps, maxTokens))))
  const result = sdk.streamText({
    model,
    instructions,
    ...quiet,
    maxOutputTokens: maxTokens,
    abortSignal: signal,
    stopWhen: [sdk.isStepCount(maxSteps), isTooDear],
    messages: messages.map(({role, text}) => ({role, content: text})),
    tools: toolsOf(sdk, toolSet),
    // Errors are handled as parts of the stream.
    onError: () => {},
  })
  const count = counting(begun, spent)
  let isOver = false
  let isCut = false
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
      // A step with the reason `error` means that the provider broke off the answer.
      if (part.finishReason === 'error') throw brokenOff()
      isCut = part.finishReason === 'length'
      count.step(part.usage)
    } else if (part.type === 'error') throw part.error
    else if (part.type === 'abort') signal.throwIfAborted()
    else if (part.type === 'finish') isOver = true
  }
  if (!isOver) throw brokenOff()
  yield {type: 'done', usage: count.total(), isCut}
}

const toolFailed = {error: 'This tool failed'}

/** Maximum number of tool calls per conversation, because a single answer of the model may contain any number. */
const mostCalls = 20
const tooManyCalls = {error: `At most ${mostCalls} calls are answered: say what you know by now`}

const toolsOf = (sdk: Sdk['sdk'], toolSet: ToolSet): ai.ToolSet => {
  let calls = 0
  return Object.fromEntries(
    Object.entries(toolSet).map(([name, {description, input, run}]) => {
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

type EndedCall = {given: AbortSignal; late: AbortSignal; usage?: Usage}

const failureOf = (sdk: Sdk['sdk'], error: unknown, {given, late, usage}: EndedCall): unknown => {
  if (given.aborted) return given.reason
  if (late.aborted) return new ModelFailure('The model took too long', {kind: 'unavailable', ...(usage && {usage})})
  const failure = error instanceof ModelFailure ? error : judge(sdk, error)
  return usage ? new ModelFailure(failure.message, {...failure, usage}) : failure
}

/** Converts an error to a ModelFailure. Uses only kind and status, because messages of the provider and the packages may repeat the prompt. */
const judge = (sdk: Sdk['sdk'], error: unknown): ModelFailure => {
  if (sdk.NoObjectGeneratedError.isInstance(error)) return invalidAnswer(usageOf(error.usage, nothing))
  if (!sdk.APICallError.isInstance(error)) return brokenOff()
  const {statusCode: status = null, responseHeaders} = error
  // A 2xx status with an unreadable body is a broken answer. No status means that no answer came.
  const isRefusal = status !== null && status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status)
  const message = status === null ? 'The model was not reached' : `The model answered ${status}`
  return new ModelFailure(message, {kind: isRefusal ? 'refused' : 'unavailable', status, retryAfterMs: waitOf(responseHeaders)})
}

const waitOf = (headers: Record<string, string> | undefined): number | null => {
  const retryAfter = headers?.['retry-after']
  if (retryAfter === undefined) return null
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000
  return Number.isFinite(seconds) && seconds >= 0 ? Math.round(seconds * 1000) : null
}
