import {once} from 'node:events'
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {answerDiscovery, answerOpenIdUser, answerRevoke, answerServerInfo, answerToken, answerUserInfo} from './accounts.ts'
import {type Answer, refuse} from './answers.ts'
import {answerAuthorise} from './consent.ts'
import {answerControl} from './control.ts'
import {answerCall, findToken, isResultPath, segmentsOf} from './crm-calls.ts'
import {recordExchange} from './exchanges.ts'
import {disturb, interrupt, linger, type Outcome, spoil} from './fault-course.ts'
import {actionOf, type Fault, type FaultAction, type Target} from './faults.ts'
import {reportedTime} from './org.ts'
import {type Request, readRequest} from './request.ts'
import {moduleNamed} from './routes.ts'
import type {Simulator} from './simulator.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {AccessToken} from './tokens.ts'

export type ServerOptions = {port: number; control: boolean; keepAliveMs: number}

/** Opens the server of the accounts host and the CRM on one loopback port. */
export const openServer = async (standIn: Simulator, {port, control, keepAliveMs}: ServerOptions): Promise<Server> => {
  const server = createServer((incoming, outgoing) => {
    serve(standIn, control, incoming, outgoing).catch(error => fail(outgoing, error))
  })
  server.keepAliveTimeout = keepAliveMs
  const {promise, resolve, reject} = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, '127.0.0.1', resolve)
  await promise
  standIn.world.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return server
}

const serve = async (standIn: Simulator, control: boolean, incoming: IncomingMessage, outgoing: ServerResponse) => {
  const {world} = standIn
  const request = await readRequest(incoming, world.defaultDc)
  if (control && request.path.startsWith('/__sim')) {
    send(outgoing, await answerControl(standIn, request), world.clock.now())
    return
  }
  const started = performance.now()
  const token = findToken(world, request)
  const fault = world.faults.take(() => targetOf(request, token))
  const late = isCrm(request) && actionOf(fault, 'late')
  const outcome = late
    ? await endBeforeArrival(standIn, {request, token, fault, late, outgoing})
    : await answerOnce(standIn, request, token, fault)
  const sent = deliver(world, outgoing, outcome, token)
  if (outcome.answer.committed) standIn.changed()
  note(world, {request, token, fault, outcome, sent, ms: performance.now() - started})
}

const isCrm = ({path}: Request) => path.startsWith('/crm/') || isResultPath(path)

type Late = {
  request: Request
  token: AccessToken | null
  fault: Fault | null
  late: Extract<FaultAction, {type: 'late'}>
  outgoing: ServerResponse
}

/** Drops the connection of a `late` request: at once, or when the client closes it. The request executes `late.ms` after it was received. */
const endBeforeArrival = async (standIn: Simulator, {request, token, fault, late, outgoing}: Late): Promise<Outcome> => {
  const {world} = standIn
  world.deliveries.add(token?.org.key ?? null, late.ms, async () => {
    const answer = await answerCall(world, request, null)
    if (answer.committed) standIn.changed()
    note(world, {request, token, fault, outcome: {answer, end: 'late'}, sent: textOf(answer), ms: 0})
  })
  if (late.end === 'silent') await once(outgoing, 'close')
  return {answer: {status: 0}, end: 'dropped'}
}

/** Executes a request, or twice if a fault says so. The journal notes the answer that is not sent. */
const answerOnce = async (standIn: Simulator, request: Request, token: AccessToken | null, fault: Fault | null): Promise<Outcome> => {
  const {world} = standIn
  const twice = isCrm(request) ? actionOf(fault, 'twice') : undefined
  if (!twice) return answerRequest(world, request, token, fault)
  const first = await answerRequest(world, request, token, fault)
  const second = await answerRequest(world, request, token, fault)
  const [sent, unsent] = twice.answer === 'second' ? [second, first] : [first, second]
  note(world, {request, token, fault, outcome: {...unsent, end: 'repeated'}, sent: textOf(unsent.answer), ms: 0})
  if (unsent.answer.committed) standIn.changed()
  return sent
}

const answerRequest = async (world: SimulatorState, request: Request, token: AccessToken | null, fault: Fault | null): Promise<Outcome> => {
  if (fault) disturb(world, fault, token, request.path.startsWith('/oauth') ? (await request.params()).get('refresh_token') : null)
  const interrupted = interrupt(world, fault)
  if (interrupted) {
    await linger(world, fault, 'before')
    return interrupted
  }
  if (isCrm(request)) return spoil(world, fault, await answerCall(world, request, fault))
  if (fault) await linger(world, fault, 'before')
  const answer = await answerAccounts(world, request)
  if (fault) await linger(world, fault, 'after')
  return spoil(world, fault, answer)
}

const answerAccounts = async (world: SimulatorState, request: Request): Promise<Answer> => {
  switch (`${request.method} ${request.path}`) {
    case 'GET /oauth/v2/auth':
      return answerAuthorise(world, request)
    case 'POST /oauth/v2/token':
      return answerToken(world, request)
    case 'POST /oauth/v2/token/revoke':
    case 'GET /oauth/v2/token/revoke':
      return answerRevoke(world, request)
    case 'GET /oauth/user/info':
      return answerUserInfo(world, request)
    case 'GET /oauth/v2/userinfo':
      return answerOpenIdUser(world, request)
    case 'GET /oauth/serverinfo':
      return answerServerInfo(world)
    case 'GET /.well-known/openid-configuration':
      return answerDiscovery(world, request)
    default:
      return refuse(404, 'INVALID_URL_PATTERN')
  }
}

/** Sends the answer, half of it or nothing. Returns the text that was sent. */
const deliver = (world: SimulatorState, outgoing: ServerResponse, {answer, end}: Outcome, token: AccessToken | null): string => {
  const toldMs = token ? reportedTime(token.org) : world.clock.now()
  if (end === 'answered') return send(outgoing, answer, toldMs)
  if (end === 'dropped') {
    outgoing.socket?.destroy()
    return ''
  }
  const content = contentOf(answer)
  const half = content.slice(0, Math.floor(content.length / 2))
  outgoing.writeHead(answer.status, {...headersOf(answer, toldMs), 'content-length': Buffer.byteLength(content)})
  outgoing.write(half, () => outgoing.socket?.destroy())
  return typeof half === 'string' ? half : textOf(answer)
}

const send = (outgoing: ServerResponse, answer: Answer, toldMs: number): string => {
  const content = contentOf(answer)
  const length: Record<string, string> =
    answer.status === 204 || answer.status === 304 ? {} : {'content-length': String(Buffer.byteLength(content))}
  outgoing.writeHead(answer.status, {...headersOf(answer, toldMs), ...length})
  outgoing.end(content)
  return typeof content === 'string' ? content : textOf(answer)
}

const contentOf = (answer: Answer): string | Buffer => answer.bytes ?? textOf(answer)

/** Returns the answer as text, for the response and the journal. */
const textOf = ({text, bytes, body}: Answer): string =>
  text ?? (bytes ? `(${bytes.length} bytes)` : body === undefined ? '' : JSON.stringify(body))

let lastDate = {second: 0, text: ''}

/** Returns the headers of an answer. Its Date is the time that the CRM shows. */
const headersOf = (answer: Answer, toldMs: number): Record<string, string> => {
  const second = Math.floor(toldMs / 1000)
  if (lastDate.second !== second) lastDate = {second, text: new Date(second * 1000).toUTCString()}
  const type = answer.type ?? (answer.body === undefined ? undefined : 'application/json;charset=UTF-8')
  return {date: lastDate.text, ...(type === undefined ? {} : {'content-type': type}), ...answer.headers}
}

const targetOf = (request: Request, token: AccessToken | null): Target => ({
  method: request.method,
  path: request.path,
  module: request.path.startsWith('/crm/v8/')
    ? (moduleNamed(segmentsOf(request.path)) ?? request.query.get('module') ?? undefined)
    : undefined,
  client: token?.clientId ?? request.query.get('client_id') ?? undefined,
  org: token?.org.key,
  user: token?.user.email,
})

type NoteInput = {request: Request; token: AccessToken | null; fault: Fault | null; outcome: Outcome; sent: string; ms: number}

const note = (world: SimulatorState, {request, token, fault, outcome, sent, ms}: NoteInput) => {
  const {answer, end} = outcome
  const about = {
    at: new Date(world.clock.now()).toISOString(),
    ms: Math.round(ms * 1000) / 1000,
    method: request.method,
    path: request.path,
    dc: request.dc,
    org: token?.org.key ?? null,
    user: token?.user.email ?? null,
    client: token?.clientId ?? request.query.get('client_id'),
    module: request.path.startsWith('/crm/v8/') ? (moduleNamed(segmentsOf(request.path)) ?? null) : null,
    status: end === 'dropped' ? null : answer.status,
    outcome: end,
    committed: Boolean(answer.committed),
    fault: fault ? {id: fault.id, actions: fault.actions.map(action => action.type)} : null,
  }
  world.journal.note(about, request, answer, sent)
  if (end === 'answered' && !token?.org.switches.legacy202)
    recordExchange(request, {status: answer.status, text: sent, faults: about.fault?.actions ?? []})
}

/** Answers an error of the stand-in: 400 for a TypeError, otherwise 599, which the CRM never sends. */
const fail = (outgoing: ServerResponse, error: unknown) => {
  if (outgoing.destroyed || outgoing.socket?.destroyed) return
  const isRefused = error instanceof TypeError
  if (!isRefused) console.error(error)
  if (outgoing.headersSent) return void outgoing.socket?.destroy()
  outgoing.writeHead(isRefused ? 400 : 599, {'content-type': 'text/plain'})
  outgoing.end(`${error instanceof Error ? error.message : String(error)}\n`)
}
