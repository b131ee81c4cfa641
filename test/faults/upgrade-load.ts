import {setTimeout as sleep} from 'node:timers/promises'
import {openCalls} from '../support/client.ts'
import type {StartedParts} from '../support/deployment.ts'
import type {Random} from './random.ts'

/** Requests per second, if the machine is fast enough. While `mostAtOnce` requests are unanswered, no new one starts. */
const rate = 150
const mostAtOnce = 8
const longestMs = 15_000

export type P99OfInput = {at: number; ms: number; status: number; what: string; by: string; text: string}
type OpenLoadInput = {org: string; connector: string; token: string}
/** `pick`: returns the URL of an API that accepts requests at this moment. */
type Ways = {pick(): string; dice: Random}

export type Load = {
  asked: P99OfInput[]
  /** Returns the 99th percentile, in ms, of the answer times of requests that began within these spans of `performance.now()`. */
  p99(spans: [from: number, to: number][]): number
  stop(): Promise<void>
}

/** Sends typical requests until stopped: the caller's account, lists and, less often, changes. */
export const openLoad = ({org, connector, token}: OpenLoadInput, {pick, dice}: Ways, begun: StartedParts): Load => {
  const asked: P99OfInput[] = []
  const under = new Set<Promise<void>>()
  const over = new AbortController()
  const listing = `/orgs/${org}/imports`
  let renamed: string | null = null
  const ask = async (by: string, method: string, path: string, body?: unknown) => {
    const at = performance.now()
    const answering = openCalls(by)(token)(method, path, body)
    const late = sleep(longestMs, {status: 598, text: `no answer within ${longestMs} ms`, body: null}, {ref: false})
    const {
      status,
      text,
      body: answer,
    } = await Promise.race([answering, late]).catch(error => ({status: 599, text: String(error.cause ?? error), body: null}))
    asked.push({at, ms: performance.now() - at, status, what: `${method} ${path}`, by, text: status >= 500 ? text : ''})
    if (method === 'POST' && status === 201) renamed = (answer as any).import.id
  }
  const one = (n: number) => {
    const roll = dice.roll()
    if (roll < 0.45) return ask(pick(), 'GET', '/auth/me')
    if (roll < 0.75) return ask(pick(), 'GET', `${listing}?limit=20`)
    if (roll < 0.9 || renamed === null) return ask(pick(), 'POST', listing, {name: `Load ${n}`, connectorId: connector})
    return ask(pick(), 'PATCH', `${listing}/${renamed}`, {name: `Renamed ${n}`})
  }
  const going = (async () => {
    for (let n = 0, next = performance.now(); !over.signal.aborted; n++) {
      while (under.size >= mostAtOnce) await Promise.race(under)
      next = Math.max(next + 1_000 / rate, performance.now())
      await sleep(Math.max(0, next - performance.now()))
      const asking = one(n)
      under.add(asking)
      void asking.finally(() => under.delete(asking))
    }
  })()
  const stop = async () => {
    over.abort()
    await going
    await Promise.all(under)
  }
  begun(stop)
  return {asked, p99: spans => p99Of(asked, spans), stop}
}

const p99Of = (asked: P99OfInput[], spans: [number, number][]) => {
  const within = asked.filter(({at}) => spans.some(([from, to]) => at >= from && at < to)).map(({ms}) => ms)
  return within.toSorted((one, other) => one - other)[Math.floor(within.length * 0.99)] ?? 0
}
