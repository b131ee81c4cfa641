import {readEvents} from '../../event-stream.ts'
import {ApiError, type Client} from '../../http.ts'
import {isOver, type Run, withEvent} from './run.ts'

type Told = (run: Run, how: 'events' | 'polls') => void
type Following = {client: Client; path: string; signal: AbortSignal; pause(ms: number, signal: AbortSignal): Promise<void>; tell: Told}

const againMs = 2_000
/** So many times in a row without a word of the stream, then the run is asked for instead, and the stream tried again now and then. */
const mostSilent = 3
const pollMs = 3_000
const pollsBetween = 10

/**
 * Tells a run as it is and at every change, until it has ended: by server-sent events, carried on with the last id where the connection
 * breaks; by asking, where events do not come through. Throws what a person has to hear: the run or the session is gone.
 */
export const followRun = async ({client, path, signal, pause, tell}: Following): Promise<void> => {
  let {run} = await client.get<{run: Run}>(path, {}, signal)
  let lastId: string | null = null
  tell(run, 'events')
  for (let silent = 0; !isOver(run) && !signal.aborted; ) {
    try {
      for await (const event of readEvents(client, 'GET', `${path}/events`, {
        signal,
        headers: lastId === null ? {} : {'last-event-id': lastId},
      })) {
        run = withEvent(run, event)
        lastId = event.id ?? lastId
        silent = 0
        tell(run, 'events')
      }
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error
      silent++
    }
    if (isOver(run)) return
    if (silent < mostSilent) {
      await pause(againMs, signal)
      run = await askOnce(run)
    } else run = await poll(run)
  }

  async function askOnce(known: Run): Promise<Run> {
    try {
      return (await client.get<{run: Run}>(path, {}, signal)).run
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error
      return known
    }
  }

  async function poll(known: Run): Promise<Run> {
    let seen = known
    for (let polls = 0; polls < pollsBetween && !isOver(seen); polls++) {
      await pause(pollMs, signal)
      seen = await askOnce(seen)
      tell(seen, 'polls')
    }
    return seen
  }
}

/** Asking again would be answered the same. */
const isFinal = (error: unknown) => error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429
