import {setTimeout as sleep} from 'node:timers/promises'
import {openCalls} from '../client.ts'
import type {Begun} from '../deployment.ts'
import type {Dice} from './dice.ts'

/** Requests a second, where the machine has room for them; with so many unanswered the next ones wait. */
const rate = 150
const mostAtOnce = 8
const longestMs = 15_000

export type Asked = {at: number; ms: number; status: number; what: string; by: string; text: string}
type Place = {org: string; connector: string; token: string}
/** `pick` names an API that takes requests at this moment. */
type Ways = {pick(): string; dice: Dice}

export type Load = {
  asked: Asked[]
  /** Of what was asked between two moments of `performance.now()`, the time under which 99 of 100 were answered. */
  p99(spans: [from: number, to: number][]): number
  stop(): Promise<void>
}

/** What people and programs ask of the API all day: who they are, what there is, now and then something new. */
export const openLoad = ({org, connector, token}: Place, {pick, dice}: Ways, begun: Begun): Load => {
  const asked: Asked[] = []
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

const p99Of = (asked: Asked[], spans: [number, number][]) => {
  const within = asked.filter(({at}) => spans.some(([from, to]) => at >= from && at < to)).map(({ms}) => ms)
  return within.toSorted((one, other) => one - other)[Math.floor(within.length * 0.99)] ?? 0
}
