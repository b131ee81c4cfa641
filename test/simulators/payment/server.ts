import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {answerCall} from './calls.ts'
import {isLoopback, sendDue} from './deliveries.ts'
import type {Spoiled} from './faults.ts'
import {answerPage} from './pages.ts'
import type {Simulator} from './simulator.ts'
import {type Answer, definedOf, type Request, readRequest} from './wire.ts'

export type ServerOptions = {
  host: string
  port: number
  /** Checks the body of every answer with status 200 before it is sent. An error it throws is an error of the stand-in. */
  check?: (body: unknown) => void
}

/** Opens the server of the API, its pages and the control interface on one local port. */
export const openServer = async (standIn: Simulator, {host, port, check}: ServerOptions): Promise<Server> => {
  if (!isLoopback(host)) throw new TypeError(`The stand-in listens on this machine only, not at ${host}`)
  const server = createServer((incoming, outgoing) => {
    serve(standIn, incoming, outgoing, check).catch(error => fail(outgoing, error))
  })
  const {promise, resolve, reject} = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, host, resolve)
  await promise
  standIn.world.baseUrl = `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`
  return server
}

const serve = async (standIn: Simulator, incoming: IncomingMessage, outgoing: ServerResponse, check: ServerOptions['check']) => {
  const request = await readRequest(incoming)
  if (request.path.startsWith('/_sim/')) return deliver(outgoing, {answer: await answerControl(standIn, request), end: 'answered'})
  const {world} = standIn
  const page = answerPage(world, request)
  const spoiled: Spoiled = page ? {answer: page, end: 'answered'} : await answerCall(world, request)
  if (!page && spoiled.answer.status === 200) check?.(spoiled.answer.body)
  world.store.commit()
  deliver(outgoing, spoiled)
  await sendDue(world)
}

const deliver = (outgoing: ServerResponse, {answer, end}: Spoiled) => {
  if (end === 'dropped') return void outgoing.socket?.destroy()
  const text = answer.text ?? (answer.body === undefined ? '' : JSON.stringify(answer.body))
  const type = answer.type ?? 'application/json'
  outgoing.writeHead(answer.status, {'content-type': type, ...answer.headers, 'content-length': Buffer.byteLength(text)})
  if (end === 'answered') return void outgoing.end(text)
  outgoing.write(text.slice(0, Math.floor(text.length / 2)), () => outgoing.socket?.destroy())
}

/** Answers an internal error of the stand-in with 599, which no provider sends. */
const fail = (outgoing: ServerResponse, error: unknown) => {
  console.error(error)
  if (outgoing.headersSent || outgoing.destroyed) return void outgoing.socket?.destroy()
  const message = error instanceof Error ? error.message : String(error)
  outgoing.writeHead(599, {'content-type': 'application/json', 'stripe-should-retry': 'false'})
  outgoing.end(JSON.stringify({error: {type: 'api_error', code: 'stand_in', message: `The stand-in: ${message}`}}))
}

type Control = (standIn: Simulator, body: any, query: URLSearchParams) => unknown

/** The control routes under `/_sim`, for tests and manual use. Bodies and answers are JSON. */
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
  'POST checkouts': (standIn, {id, card, email}) => standIn.payCheckout(id, definedOf({card, email})),
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

const answerControl = async (standIn: Simulator, request: Request): Promise<Answer> => {
  const run = controls[`${request.method} ${request.path.slice('/_sim/'.length)}`]
  if (!run) return {status: 404, body: {error: 'no such control route', routes: Object.keys(controls)}}
  try {
    const body = request.body.trim() === '' ? {} : JSON.parse(request.body)
    return {status: 200, body: (await run(standIn, body, new URLSearchParams(request.query))) ?? {done: true}}
  } catch (error) {
    return {status: 400, body: {error: error instanceof Error ? error.message : String(error)}}
  }
}
