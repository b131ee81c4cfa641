import {signal} from '@preact/signals'
import {settings} from './settings.ts'

/** The response of `GET /auth/embed`: what an embed token gives access to. */
export type EmbedSession = {
  org: {id: string; name: string; dateFormat: string}
  template: {id: string; name: string}
  origin: string
  rowsLimit: number
  rowsLeft: number
  expiresAt: string
  connection: {id: string; name: string; state: string; writesPaused: boolean; isDiscovered: boolean} | null
  modules: Record<string, {label: string; fields: Record<string, string>}>
}

/**
 * The session of the embed token, or null if no page of another origin embeds this page. In an embedded page, the widget hides what an embed token
 * may not do.
 */
export const embed = signal<EmbedSession | null>(null)

/** The embed token, in memory only. */
let token: string | null = null
export const embedToken = (): string | null => token
export const holdEmbedToken = (next: string): void => {
  token = next
}

export type HostMessage =
  | {type: 'lading:ready'}
  | {type: 'lading:height'; height: number}
  | {type: 'lading:run'; importId: string; runId: string}
  | {type: 'lading:end'; importId: string; runId: string; state: string; counts: object}

/** Posts a message to the embedding page if that page has the origin that the server allowed for this frame. */
export const postToHost = (message: HostMessage): void => {
  if (settings.embed && parent !== window) parent.postMessage(message, settings.embed.origin)
}

type TellableRun = {id: string; state: string; dryRun: boolean; counts: object; endedAt: string | null}
const told = new Set<string>()

/** Reports the start and the end of a run to the embedding page, each once. Dry runs are not reported. */
export const reportRunToHost = (importId: string, {id, state, dryRun, counts, endedAt}: TellableRun): void => {
  if (!embed.value || dryRun) return
  const once = (type: string, message: HostMessage) => {
    if (told.has(`${type} ${id}`)) return
    told.add(`${type} ${id}`)
    postToHost(message)
  }
  once('run', {type: 'lading:run', importId, runId: id})
  if (endedAt !== null) once('end', {type: 'lading:end', importId, runId: id, state, counts})
}

const patienceMs = 20_000

/**
 * Requests a token from the embedding page. Messages of other windows and origins are ignored. Rejects after 20 seconds without a token, or with
 * the page's error.
 */
export const askHostForToken = (): Promise<string> => {
  const {promise, resolve, reject} = Promise.withResolvers<string>()
  const hear = ({source, origin, data}: MessageEvent) => {
    if (source !== parent || origin !== settings.embed?.origin || data?.type !== 'lading:session') return
    if (typeof data.token === 'string') resolve(data.token)
    else reject(new Error(typeof data.error === 'string' ? data.error : ''))
  }
  addEventListener('message', hear)
  const timer = setTimeout(() => reject(new Error('')), patienceMs)
  postToHost({type: 'lading:ready'})
  return promise.finally(() => {
    clearTimeout(timer)
    removeEventListener('message', hear)
  })
}
