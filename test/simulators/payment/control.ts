import {type Answer, ok} from './answers.ts'
import type {Request} from './request.ts'
import type {Simulator} from './simulator.ts'

type Control = (standIn: Simulator, body: any, query: URLSearchParams) => unknown

/** The control interface for tests and manual use, under `/_sim`. Bodies and answers are JSON. */
const controls: Record<string, Control> = {
  'GET state': standIn => standIn.state(),
  'GET money': (standIn, _, query) => standIn.money(query.get('customer') ?? undefined),
  'POST reset': standIn => standIn.reset(),
  'GET clock': standIn => ({now: standIn.now()}),
  'POST clock': async (standIn, {advance, at}) => {
    if (at !== undefined) await standIn.advanceTo(at)
    if (advance !== undefined) await standIn.advance(advance)
    return {now: standIn.now()}
  },
  'GET faults': standIn => standIn.faults.list(),
  'POST faults': (standIn, body) => ({id: standIn.faults.add(body)}),
  'DELETE faults': standIn => standIn.faults.clear(),
  'POST release': standIn => ({released: standIn.faults.release()}),
  'POST traffic': (standIn, {rule, shuffle, together, pause}) => {
    if (rule !== undefined) standIn.traffic.add(rule)
    if (shuffle !== undefined) standIn.traffic.shuffle(shuffle)
    if (together !== undefined) standIn.traffic.together(together)
    if (pause !== undefined) standIn.traffic.pause(pause)
  },
  'DELETE traffic': standIn => standIn.traffic.clear(),
  'POST settle': standIn => standIn.settle(),
  'GET deliveries': standIn => standIn.deliveries(),
  'POST endpoints': (standIn, {url, events}) => standIn.addEndpoint(url, events),
  'POST settings': (standIn, body) => standIn.setSettings(body),
  'POST cards': (standIn, {card, behaviour}) => standIn.setCard(card, behaviour),
  'POST checkouts': (standIn, {id, card, email}) => standIn.payCheckout(id, {...(card ? {card} : {}), ...(email ? {email} : {})}),
  'POST settlements': (standIn, {id, outcome}) => standIn.settleCheckout(id, outcome),
  'POST portal': (standIn, {session, ...act}) => standIn.actAtPortal(session, act),
  'POST dashboard': (standIn, {act, args}) => {
    const run = standIn.dashboard[act as keyof Simulator['dashboard']] as ((...given: string[]) => unknown) | undefined
    if (!run) throw new TypeError(`The dashboard cannot do that: ${act}`)
    return run(...args)
  },
  'GET objects': (standIn, _, query) => standIn.all(query.get('object') ?? ''),
  'GET journal': (standIn, _, query) => standIn.journal(Object.fromEntries(query)),
  'DELETE journal': standIn => standIn.clearJournal(),
}

export const answerControl = async (standIn: Simulator, request: Request): Promise<Answer> => {
  const run = controls[`${request.method} ${request.path.slice('/_sim/'.length)}`]
  if (!run) return {status: 404, body: {error: 'no such control route', routes: Object.keys(controls)}}
  try {
    const body = request.body.trim() === '' ? {} : JSON.parse(request.body)
    return ok((await run(standIn, body, new URLSearchParams(request.query))) ?? {done: true})
  } catch (error) {
    return {status: 400, body: {error: error instanceof Error ? error.message : String(error)}}
  }
}
