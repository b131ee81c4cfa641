import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import type {Answer} from './answers.ts'
import {answerCall} from './calls.ts'
import {answerCheckoutPage} from './checkout-page.ts'
import {answerControl} from './control.ts'
import {sendDue} from './deliveries.ts'
import {isLoopback} from './endpoints.ts'
import type {Spoiled} from './fault-course.ts'
import {answerInvoicePage} from './invoice-page.ts'
import {answerPortalPage} from './portal-page.ts'
import {type Request, readRequest} from './request.ts'
import type {Simulator} from './simulator.ts'

export type ServerOptions = {
  host: string
  port: number
  /** Checks every answer before it is sent; an error it throws is one of the stand-in. */
  check?: (body: unknown) => void
}

/** The API, its pages and the control interface on one local port. */
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
  const page = answerPage(standIn, request)
  const spoiled: Spoiled = page ? {answer: page, end: 'answered'} : await answerCall(world, request)
  if (!page && spoiled.answer.status === 200) check?.(spoiled.answer.body)
  world.store.commit()
  deliver(outgoing, spoiled)
  await sendDue(world)
}

/** The pages for people, by the first part of their path. */
const pages = {'/c/pay/': answerCheckoutPage, '/p/session/': answerPortalPage, '/i/': answerInvoicePage}

const answerPage = ({world}: Simulator, {method, path, body}: Request): Answer | null => {
  const [start, answer] = Object.entries(pages).find(([prefix]) => path.startsWith(prefix)) ?? []
  return start === undefined || !answer ? null : answer(world, method, path.slice(start.length), body)
}

const deliver = (outgoing: ServerResponse, {answer, end}: Spoiled) => {
  if (end === 'dropped') return void outgoing.socket?.destroy()
  const text = answer.text ?? (answer.body === undefined ? '' : JSON.stringify(answer.body))
  const type = answer.type ?? 'application/json'
  outgoing.writeHead(answer.status, {'content-type': type, ...answer.headers, 'content-length': Buffer.byteLength(text)})
  if (end === 'answered') return void outgoing.end(text)
  outgoing.write(text.slice(0, Math.floor(text.length / 2)), () => outgoing.socket?.destroy())
}

/** An internal error of the stand-in gets an answer that no provider sends. */
const fail = (outgoing: ServerResponse, error: unknown) => {
  console.error(error)
  if (outgoing.headersSent || outgoing.destroyed) return void outgoing.socket?.destroy()
  const message = error instanceof Error ? error.message : String(error)
  outgoing.writeHead(599, {'content-type': 'application/json', 'stripe-should-retry': 'false'})
  outgoing.end(JSON.stringify({error: {type: 'api_error', code: 'stand_in', message: `The stand-in: ${message}`}}))
}
