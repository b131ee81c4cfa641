import {setTimeout as sleep} from 'node:timers/promises'
import pg from 'pg'

/** A connection that receives the notifications of one channel. It reconnects with backoff until it is closed. */
export type Listener = {isListening(): boolean; close(): Promise<void>}

type ListenerOptions = {
  url: string
  channel: string
  onMessage(payload: string): void
  /** Called each time that listening begins. Notifications that were sent before are lost. */
  onBegin(): void
  /** Called when the connection is lost, and after each failed attempt to connect. */
  onEnd(error: Error): void
}

const [firstPauseMs, longestPauseMs] = [100, 10_000]
/** The interval of probe queries, which detect a server that no longer answers. */
const probeMs = 10_000

/** Opens a listener. The URL must not lead through a pooler in transaction mode. */
export const openListener = (options: ListenerOptions): Listener => {
  const closing = new AbortController()
  const {signal} = closing
  let isListening = false

  const listen = async () => {
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
      const error = await listenOnce(options, signal, () => {
        pauseMs = firstPauseMs
        isListening = true
        options.onBegin()
      })
      isListening = false
      if (signal.aborted) return
      options.onEnd(error)
      await sleep(pauseMs, undefined, {signal, ref: false}).catch(() => {})
    }
  }
  const listening = listen()
  return {
    isListening: () => isListening,
    close() {
      closing.abort(new Error('The listener was closed'))
      return listening
    },
  }
}

/** Resolves with the reason once the connection ends. */
const listenOnce = ({url, channel, onMessage}: ListenerOptions, signal: AbortSignal, onBegin: () => void) =>
  new Promise<Error>(resolve => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'lading-listener',
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
      keepAlive: true,
    })
    const end = (error: Error) => {
      clearInterval(probe)
      signal.removeEventListener('abort', close)
      resolve(error)
      client.end().catch(() => {})
    }
    const close = () => end(signal.reason)
    const probe = setInterval(() => client.query('select 1').catch(end), probeMs).unref()
    signal.addEventListener('abort', close, {once: true})
    client.on('error', end)
    client.on('end', () => end(new Error('The connection ended')))
    client.on('notification', ({payload = ''}) => onMessage(payload))
    client
      .connect()
      .then(() => client.query(`listen ${channel}`))
      .then(() => signal.aborted || onBegin())
      .catch(end)
  })
