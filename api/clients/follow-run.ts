import {readEvents} from './event-stream.ts'
import {ApiError, type Client, type Json} from './http.ts'
import {type Pause, pause as usualPause} from './pause.ts'

/** An event of a run. `asked` contains the run, which the client polls while no events arrive. The server sends all other events. */
export type RunEvent = {event: 'state' | 'progress' | 'end' | 'asked'; data: Json}
type Following = {
  client: Client
  path: string
  signal?: AbortSignal | undefined
  pause?: Pause
  /** Called before each request, for example to renew a session. */
  prepare?(): Promise<void>
  /** After the last response, errors are retried for this time, in ms. It begins with the first error. */
  patienceMs?: number
  /** Whether an error is final before the first response. */
  isPermanent?(error: unknown): boolean
}

/** Programs give up after five minutes without a response. The widget does not, because a person sees its state. */
export const usualFollowMs = 300_000

const pausesMs = [200, 500, 1000, 2000, 3000]
/** After this many attempts in a row without an event, polls are reported as `asked`, and only each tenth attempt opens the stream. */
const mostSilent = 3
const asksBetween = 10

/**
 * Follows a run until `end` by server-sent events. After a lost connection, it resumes with the last event id. If no events arrive, it
 * polls the run. It throws final errors, such as a deleted run or an expired session.
 */
export async function* followRun({
  client,
  path,
  signal,
  pause = usualPause,
  prepare,
  patienceMs = Infinity,
  isPermanent = () => false,
}: Following): AsyncGenerator<RunEvent> {
  let lostAt: number | null = null
  let hasResponded = false
  const onOpen = () => {
    lostAt = null
    hasResponded = true
  }
  let lastId: string | null = null
  for (let silent = 0; ; silent++) {
    const isAsking = silent >= mostSilent
    try {
      await prepare?.()
      if (!isAsking || silent % asksBetween === 0) {
        const headers: Record<string, string> = lastId === null ? {} : {'last-event-id': lastId}
        for await (const {event, data, id} of readEvents(client, 'GET', `${path}/events`, {headers, onOpen, ...(signal && {signal})})) {
          silent = 0
          lastId = id ?? lastId
          yield {event: event as RunEvent['event'], data}
          if (event === 'end') return
        }
      }
      const {run}: Json = await client.get(path, {}, signal)
      onOpen()
      const isOver = run.state === 'ended'
      if (isOver || isAsking) yield {event: isOver ? 'end' : 'asked', data: {run}}
      if (isOver) return
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      lostAt ??= Date.now()
      if (isFinal(error) || (!hasResponded && isPermanent(error)) || Date.now() - lostAt > patienceMs) throw error
    }
    await pause(pausesMs[Math.min(silent, pausesMs.length - 1)]!, signal)
  }
}

/** Whether a retry would get the same error. */
export const isFinal = (error: unknown) =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)
