import {readEvents} from './event-stream.ts'
import {ApiError, type Client, type Json} from './http.ts'
import {type Pause, pause as usualPause} from './pause.ts'

/** `asked`: the run, asked for where no events come through. The others are the server's, as they come. */
type Heard = {event: 'state' | 'progress' | 'end' | 'asked'; data: Json}
type Following = {
  client: Client
  path: string
  signal?: AbortSignal | undefined
  pause?: Pause
  /** Before anything is asked: to renew a session. */
  prepare?(): Promise<void>
  /** With nothing heard for so long what went wrong is thrown. */
  patienceMs?: number
}

const pausesMs = [200, 500, 1000, 2000, 3000]
/** So many times in a row without a word of the stream, then the run is told as it is asked for, and the stream tried again now and then. */
const mostSilent = 3
const asksBetween = 10

/**
 * A run as it goes on, `end` last: by server-sent events, carried on with the last id where the connection breaks or the server ends it; by asking,
 * where events do not come through. Throws what asking again would not change, such as that the run or the session is gone.
 */
export async function* followRun({
  client,
  path,
  signal,
  pause = usualPause,
  prepare,
  patienceMs = Infinity,
}: Following): AsyncGenerator<Heard> {
  let heardAt = Date.now()
  let lastId: string | null = null
  for (let silent = 0; ; silent++) {
    const isAsking = silent >= mostSilent
    try {
      await prepare?.()
      if (!isAsking || silent % asksBetween === 0) {
        const headers: Record<string, string> = lastId === null ? {} : {'last-event-id': lastId}
        for await (const {event, data, id} of readEvents(client, 'GET', `${path}/events`, {headers, ...(signal && {signal})})) {
          heardAt = Date.now()
          silent = 0
          lastId = id ?? lastId
          yield {event: event as Heard['event'], data}
          if (event === 'end') return
        }
      }
      const {run}: Json = await client.get(path, {}, signal)
      heardAt = Date.now()
      const isOver = run.state === 'ended'
      if (isOver || isAsking) yield {event: isOver ? 'end' : 'asked', data: {run}}
      if (isOver) return
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (isFinal(error) || Date.now() - heardAt > patienceMs) throw error
    }
    await pause(pausesMs[Math.min(silent, pausesMs.length - 1)]!, signal)
  }
}

/** Asking again would be answered the same. */
export const isFinal = (error: unknown) =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)
