import {once} from 'node:events'
import {PassThrough} from 'node:stream'
import type {ChatDone, ChatPart} from '../shared/assistant/chat/chat.ts'
import {ModelFailure, refusalOfModel} from '../shared/assistant/model-failure.ts'
import {Refusal} from '../shared/errors.ts'
import type {Log} from '../shared/telemetry/log.ts'
import {openKeyedLimiter} from './keyed-limiter.ts'
import {type Reply, reply} from './reply.ts'
import type {ApiRequest} from './route.ts'

/** The limit for this process. Each conversation uses one client socket and one connection to the model. */
const mostStreams = 500
const mostOfOrg = 250
const beatMs = 15_000
/** A stream may last this many seconds longer than the time-outs of the model. After its end, a client has the same time to read the rest. */
const lingerSeconds = 30

const {take} = openKeyedLimiter({
  most: mostOfOrg,
  mostInAll: mostStreams,
  retryAfterMs: 5_000,
  says: 'Too many conversations are active. Try again in a moment',
})

type ChatStreamDeps = {log: Log; config: {MODEL_TIMEOUT_SECONDS: number}; request: Pick<ApiRequest, 'signal'>}
type Begin = (listening: {say(part: ChatPart): Promise<void>; signal: AbortSignal}) => Promise<ChatDone>

/**
 * Streams a conversation as server-sent events: `text`, `tool` and `tool_result` as they occur, then `done`, or `error` with a refusal. An error
 * before the first event or keep-alive comment becomes a normal HTTP refusal. If the client disconnects, the model call is aborted.
 */
export const streamChat = ({log, config, request}: ChatStreamDeps, org: string, begin: Begin): Reply => {
  const leave = take(org)
  const body = new PassThrough()
  const gone = new AbortController()
  const late = AbortSignal.timeout((config.MODEL_TIMEOUT_SECONDS * 5 + lingerSeconds) * 1000)
  const signal = AbortSignal.any([request.signal, gone.signal, late])
  const beat = setInterval(() => body.write(': still here\n\n'), beatMs).unref()
  body.once('close', () => gone.abort())
  const say = async (event: string, data: object) => {
    signal.throwIfAborted()
    if (!body.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) await once(body, 'drain', {signal})
  }
  const run = async () => {
    try {
      await say('done', await begin({say: ({type, ...data}) => say(type, data), signal}))
      body.end()
    } catch (error) {
      fail(body, signal, error instanceof ModelFailure ? refusalOfModel(log, error, 'chat') : error, log)
    } finally {
      clearInterval(beat)
      leave()
      const linger = setTimeout(() => body.destroy(), lingerSeconds * 1000).unref()
      body.once('close', () => clearTimeout(linger))
    }
  }
  void run()
  return reply({
    headers: {'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no'},
    body,
  })
}

/**
 * Ends the stream with the error. If nothing was written yet, destroys the stream, so that the error becomes the HTTP response. After an abort,
 * destroys the stream and logs any error except the abort.
 */
const fail = (body: PassThrough, signal: AbortSignal, error: unknown, log: Log) => {
  if (signal.aborted) {
    if (error !== signal.reason && !isAbort(error)) log.warn({err: error}, 'could not settle an aborted conversation')
    return body.destroy()
  }
  if (body.writableLength === 0 && body.readableLength === 0 && !body.readableDidRead) return body.destroy(error as Error)
  if (!(error instanceof Refusal)) log.error({err: error}, 'a conversation failed')
  const envelope = error instanceof Refusal ? error.envelope : {error: 'Something went wrong. Try again', code: 'INTERNAL'}
  return body.end(`event: error\ndata: ${JSON.stringify(envelope)}\n\n`)
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError'
