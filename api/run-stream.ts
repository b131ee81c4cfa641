import {createHash} from 'node:crypto'
import {Readable} from 'node:stream'
import {Refusal} from '../shared/errors.ts'
import type {FoundRun} from '../shared/runs/find.ts'
import {contentOf, type WatchedRun, watchRun} from '../shared/runs/watch.ts'
import type {Log} from '../shared/telemetry/log.ts'
import type {Pool} from '../sql/database.ts'
import {openKeyedLimiter} from './keyed-limiter.ts'
import {type Reply, reply} from './reply.ts'
import type {ApiRequest} from './route.ts'

/** Limit on concurrent streams in this process. Each stream keeps a socket open. */
const mostStreams = 1_000
const mostOfOrg = 50
/** The longest duration of a stream, in ms. Clients then reconnect. */
const longestMs = 600_000
/** How long the body of an aborted stream stays open, in ms, so that a slow client can read the rest. */
const lingerMs = 10_000
/** The interval of keep-alive comments and of repeated access checks, in ms. */
const beatMs = 15_000
const againMs = 2_000

const {take} = openKeyedLimiter({
  most: mostOfOrg,
  mostInAll: mostStreams,
  retryAfterMs: 30_000,
  says: 'Too many runs are being watched. Poll the run instead',
})

type RunStreamDeps = {db: Pool; log: Log; request: Pick<ApiRequest, 'headers' | 'signal' | 'draining' | 'assertAdmitted'>}

/**
 * Streams a run as server-sent events: `state`, `progress` and finally `end`. The event id is a hash of the run, so a reconnecting client gets
 * only later changes. The caller answers 204 to a client that has received the end (`isStreamedToEnd`).
 */
export const streamRun = ({db, log, request}: RunStreamDeps, found: FoundRun, tuned: {beatMs?: number; longestMs?: number} = {}): Reply => {
  const everyMs = tuned.beatMs ?? beatMs
  const heard = request.headers['last-event-id']
  const leave = take(found.run.org)
  const signal = AbortSignal.any([request.signal, request.draining, AbortSignal.timeout(tuned.longestMs ?? longestMs)])
  const watched = whileAdmitted(watchRun({db, log}, found, {signal, beatMs: everyMs}), request, everyMs)
  const body = Readable.from(framesOf(watched, heard), {objectMode: false})
  body.once('close', leave)
  signal.addEventListener('abort', () => setTimeout(() => body.destroy(), lingerMs).unref(), {once: true})
  return reply({
    headers: {'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no'},
    body,
  })
}

/** Whether the client has already received the end of the run, by its last event id. */
export const isStreamedToEnd = (found: WatchedRun, heard: unknown) => found.state === 'ended' && heard === idOf(found)

/** Ends the stream once the bearer token is refused. If the check itself fails, the stream continues. */
async function* whileAdmitted(watched: AsyncGenerator<WatchedRun | null>, {assertAdmitted}: RunStreamDeps['request'], everyMs: number) {
  let askedAt = performance.now()
  for await (const run of watched) {
    if (performance.now() - askedAt >= everyMs) {
      const error = await assertAdmitted().then(
        () => null,
        (refused: unknown) => refused,
      )
      if (error instanceof Refusal && (error.status === 401 || error.status === 403)) return
      askedAt = performance.now()
    }
    yield run
  }
}

async function* framesOf(watched: AsyncGenerator<WatchedRun | null>, heard: unknown) {
  yield `retry: ${againMs}\n\n`
  let last: WatchedRun | null = null
  for await (const run of watched) {
    if (run === null) yield ': still here\n\n'
    else {
      if (last !== null || heard !== idOf(run)) yield eventsOf(run, last)
      last = run
    }
  }
}

/** Formats a change of the run as events. Only the last event has the id, so a client that has the id has received all of them. */
const eventsOf = (run: WatchedRun, before: WatchedRun | null) => {
  const {state, pause, stop, stoppedBy, progress, counts, rowsWritten} = run
  const status = {state, pause, stop, stoppedBy}
  const events: [string, object][] = []
  if (before === null || isOther(before, status)) events.push(['state', status])
  events.push(['progress', {progress, counts, rowsWritten}])
  if (state === 'ended') events.push(['end', {run}])
  return events
    .map(([event, data], at) => `${at === events.length - 1 ? `id: ${idOf(run)}\n` : ''}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    .join('')
}

const isOther = ({state, pause, stop, stoppedBy}: WatchedRun, status: object) =>
  JSON.stringify({state, pause, stop, stoppedBy}) !== JSON.stringify(status)

const idOf = (run: WatchedRun) => createHash('sha256').update(contentOf(run)).digest('base64url').slice(0, 16)
