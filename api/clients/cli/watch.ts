import {setTimeout as sleep} from 'node:timers/promises'
import {readEvents} from '../event-stream.ts'
import {ApiError, type Json} from '../http.ts'
import {EXIT} from './exit-codes.ts'
import {Failure, failureOf} from './failure.ts'
import type {Output} from './output.ts'
import {openProgress, runProgress} from './progress.ts'
import type {Session} from './session.ts'
import {clean} from './words.ts'

type Watched = {session: Session; out: Output; path: string; signal?: AbortSignal; patienceMs?: number}

const usualPatienceMs = 300_000
const pausesMs = [200, 500, 1000, 2000, 5000]

/**
 * Follows a run to its end; answers it. The server ends the stream now and then, and a network may: it is opened again where it ended, until
 * nothing was heard for five minutes.
 */
export const watchRun = async ({session, out, path, signal, patienceMs = usualPatienceMs}: Watched): Promise<Json> => {
  const progress = openProgress(out)
  let heard = Date.now()
  let lastId: string | null = null
  let pause: string | null = null
  try {
    for (let silent = 0; ; silent++) {
      try {
        await session.keepFresh()
        const headers: Record<string, string> = lastId === null ? {} : {'last-event-id': lastId}
        for await (const {event, data, id} of readEvents(session.client, 'GET', `${path}/events`, {headers, ...(signal && {signal})})) {
          heard = Date.now()
          silent = -1
          lastId = id ?? lastId
          if (event === 'end') return data.run
          if (event === 'state') {
            progress.clear()
            pause = tellState(out, data, pause)
          }
          if (event === 'progress') {
            out.event({event: 'progress', ...data})
            progress.show(runProgress(data.progress, data.counts))
          }
        }
        // 204, or a stream that ended in good order.
        const {run} = await session.client.get(path, undefined, signal)
        if (run.state === 'ended') return run
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        if (error instanceof ApiError && !isForNow(error)) throw error
        if (Date.now() - heard > patienceMs) throw lost(error, path)
      }
      await sleep(pausesMs[Math.min(Math.max(0, silent), pausesMs.length - 1)], undefined, signal && {signal}).catch(() => {
        throw signal!.reason
      })
    }
  } finally {
    progress.clear()
  }
}

const isForNow = ({status}: ApiError) => status === 429 || status === 408 || status >= 500

const lost = (error: unknown, path: string) => {
  const {message} = failureOf(error)
  const next = `The run goes on by itself. Come back with: lading watch ${path.split('/').at(-1)}`
  return new Failure(`Nothing was heard of the run for a while: ${message}`, {exit: EXIT.unreachable, code: 'UNREACHABLE', next})
}

/** A run that lies down says why, once; answers what was said. */
const tellState = (out: Output, data: Json, before: string | null): string | null => {
  out.event({event: 'state', ...data})
  const pause = data.pause ? clean(data.pause.message) : null
  if (pause !== null && pause !== before) out.warn(`The run waits: ${pause}`)
  return pause
}
