import {createHash} from 'node:crypto'
import {Readable} from 'node:stream'
import {Refusal} from '../shared/errors.ts'
import type {Log} from '../shared/log.ts'
import type {FoundRun} from '../shared/runs/find.ts'
import {contentOf, type Watched, watchRun} from '../shared/runs/watch.ts'
import type {Pool} from '../sql/database.ts'
import {type Reply, reply} from './reply.ts'
import type {Asked} from './route.ts'
import {openShares} from './shares.ts'

/** Streams of one process, and of one org in it: each holds a socket. */
const mostStreams = 1_000
const mostOfOrg = 50
/** Then the client connects again. */
const longestMs = 600_000
/** One that does not read what it is sent is cut off so long after its end. */
const lingerMs = 10_000
/** Where nothing changes it is said that this is alive; and whether the client may still hear it is asked as often, at the gates. */
const beatMs = 15_000
const againMs = 2_000

const {take} = openShares({
  ...{most: mostOfOrg, mostInAll: mostStreams, retryAfterMs: 30_000},
  says: 'Too many runs are being watched: ask for the run itself now and then instead',
})

type Tools = {db: Pool; log: Log; request: Pick<Asked, 'headers' | 'signal' | 'draining' | 'assertAdmitted'>}

/**
 * A run as server-sent events: `state`, `progress` and, last, `end`. The id is of the run as told, so a client that comes again with it is
 * told only what has changed since; one that has heard the end is answered 204, which tells it to stay away.
 */
export const streamRun = ({db, log, request}: Tools, found: FoundRun, tuned: {beatMs?: number; longestMs?: number} = {}): Reply => {
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

/** Whether there is nothing more to say to a client that has this id. */
export const isToldToTheEnd = (found: Watched, heard: unknown) => found.state === 'ended' && heard === idOf(found)

/** Until the bearer is refused, who may have been good when this began. Where that cannot be found out just now, it goes on. */
async function* whileAdmitted(watched: AsyncGenerator<Watched | null>, {assertAdmitted}: Tools['request'], everyMs: number) {
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

async function* framesOf(watched: AsyncGenerator<Watched | null>, heard: unknown) {
  yield `retry: ${againMs}\n\n`
  let last: Watched | null = null
  for await (const run of watched) {
    if (run === null) yield ': still here\n\n'
    else {
      if (last !== null || heard !== idOf(run)) yield eventsOf(run, last)
      last = run
    }
  }
}

/** The id comes with the last of them: whoever has it has them all. */
const eventsOf = (run: Watched, before: Watched | null) => {
  const {state, pause, stop, stoppedBy, progress, counts, rowsWritten} = run
  const standing = {state, pause, stop, stoppedBy}
  const events: [string, object][] = []
  if (before === null || isOther(before, standing)) events.push(['state', standing])
  events.push(['progress', {progress, counts, rowsWritten}])
  if (state === 'ended') events.push(['end', {run}])
  return events
    .map(([event, data], at) => `${at === events.length - 1 ? `id: ${idOf(run)}\n` : ''}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    .join('')
}

const isOther = ({state, pause, stop, stoppedBy}: Watched, standing: object) =>
  JSON.stringify({state, pause, stop, stoppedBy}) !== JSON.stringify(standing)

const idOf = (run: Watched) => createHash('sha256').update(contentOf(run)).digest('base64url').slice(0, 16)
