import {once} from 'node:events'
import {PassThrough} from 'node:stream'
import type {ChatDone, Said} from '../shared/ai/chat/chat.ts'
import {ModelFailure, refusalOfModel} from '../shared/ai/model-failure.ts'
import {Refusal} from '../shared/errors.ts'
import type {Log} from '../shared/log.ts'
import {type Reply, reply} from './reply.ts'
import type {Asked} from './route.ts'
import {openShares} from './shares.ts'

/** Conversations of one process, and of one org in it: each holds a socket here and one at the model. */
const mostStreams = 500
const mostOfOrg = 250
const beatMs = 15_000
/** Beyond what the model is given; and from the end on the reader has so long to read the rest. */
const lingerSeconds = 30

const {take} = openShares({
  ...{most: mostOfOrg, mostInAll: mostStreams, retryAfterMs: 5_000},
  says: 'Too many conversations are under way: ask again in a moment',
})

type Tools = {log: Log; config: {MODEL_TIMEOUT_SECONDS: number}; request: Pick<Asked, 'signal'>}
type Begin = (listening: {say(part: Said): Promise<void>; signal: AbortSignal}) => Promise<ChatDone>

/**
 * A conversation as server-sent events: `text`, `tool` and `tool_result` as they come, and last `done`, or `error` with the envelope of a refusal. What
 * fails before anything was said is refused as everywhere. Whoever goes away ends it, at the model too.
 */
export const streamChat = ({log, config, request}: Tools, org: string, begin: Begin): Reply => {
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

/** One that was broken off has nobody to tell. */
const fail = (body: PassThrough, signal: AbortSignal, error: unknown, log: Log) => {
  if (signal.aborted) {
    if (error !== signal.reason && !isAbort(error)) log.warn({err: error}, 'a conversation that was broken off was not settled')
    return body.destroy()
  }
  if (body.writableLength === 0 && body.readableLength === 0 && !body.readableDidRead) return body.destroy(error as Error)
  if (!(error instanceof Refusal)) log.error({err: error}, 'a conversation failed')
  const envelope = error instanceof Refusal ? error.envelope : {error: 'Something went wrong here: ask again', code: 'INTERNAL'}
  return body.end(`event: error\ndata: ${JSON.stringify(envelope)}\n\n`)
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError'
