import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import {setTimeout as wait} from 'node:timers/promises'
import {type Answer, countOf, type Question} from './answers.ts'
import {failAnthropic, readAnthropic, sayAnthropic, streamAnthropic} from './anthropic.ts'
import type {FaultAction} from './faults.ts'
import {failOpenAi, lengthOf, readOpenAi, sayOpenAi, streamOpenAi} from './openai.ts'
import type {Simulator} from './simulator.ts'

/** Opens the server of both wire formats on one local port, with the control interface under `/_sim/`. */
export const openServer = async (standIn: Simulator, {host, port}: {host: string; port: number}): Promise<Server> => {
  if (!['127.0.0.1', '::1', 'localhost'].includes(host)) throw new TypeError(`The stand-in listens on this machine only, not at ${host}`)
  const server = createServer((incoming, outgoing) => {
    serve(standIn, incoming, outgoing).catch(error => fail(outgoing, error))
  })
  const {promise, resolve, reject} = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, host, resolve)
  await promise
  return server
}

const serve = async (standIn: Simulator, incoming: IncomingMessage, outgoing: ServerResponse) => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const raw = Buffer.concat(chunks)
  const path = incoming.url!
  if (path.startsWith('/_sim/')) return control(standIn, path, raw, outgoing)
  const entry = standIn.keep({path, headers: incoming.headers as Record<string, string>, body: raw.toString('utf8')})
  outgoing.once('close', () => {
    entry.gone = !outgoing.writableFinished
  })
  const spoken = wires[path.split('?')[0]!]
  if (!spoken) return send(outgoing, 404, failOpenAi(`No such address: ${path}`))
  const known = spoken === 'openai' ? `Bearer ${standIn.key}` : standIn.key
  if (incoming.headers[spoken === 'openai' ? 'authorization' : 'x-api-key'] !== known)
    return send(outgoing, 401, spoken === 'openai' ? failOpenAi('No such key') : failAnthropic('No such key'))
  await answer(standIn, {body: JSON.parse(entry.body), wire: spoken, raw: entry.body}, outgoing)
}

const wires: Record<string, Question['wire']> = {'/v1/chat/completions': 'openai', '/v1/messages': 'anthropic'}

type AnswerInput = {body: unknown; wire: Question['wire']; raw: string}

const answer = async (standIn: Simulator, asked: AnswerInput, outgoing: ServerResponse) => {
  const {body, wire, raw} = asked
  const question = wire === 'openai' ? readOpenAi(body as never) : readAnthropic(body as never)
  const fault = standIn.faults.take()
  if (fault && (await spoilt(standIn, fault, asked, outgoing))) return
  const said = misled(question, fault) ?? standIn.next(question)
  const tokens = said.usage === undefined ? {input: countOf(raw), output: lengthOf(said)} : said.usage
  if (!question.stream) {
    const text = JSON.stringify(wire === 'openai' ? sayOpenAi(question, said, tokens) : sayAnthropic(body as never, said, tokens))
    outgoing.writeHead(200, {'content-type': 'application/json', 'content-length': Buffer.byteLength(text)})
    return fault?.type === 'half' ? breakOff(outgoing, text.slice(0, text.length / 2)) : void outgoing.end(text)
  }
  outgoing.writeHead(200, {'content-type': 'text/event-stream'})
  const events = wire === 'openai' ? streamOpenAi(question, said, tokens) : streamAnthropic(body as never, said, tokens)
  const half = Math.ceil(events.length / 2)
  for (const [at, event] of events.entries()) {
    if (at === half && fault?.type === 'half') return breakOff(outgoing, '')
    if (at === half && fault?.type === 'stall') await standIn.faults.wait()
    if (outgoing.destroyed) return
    outgoing.write(event)
    if (standIn.paceMs) await wait(standIn.paceMs)
  }
  outgoing.end()
}

/** Returns the answer that a fault uses instead of the script, or null. */
const misled = ({tools}: Question, fault: FaultAction | null): Answer | null => {
  if (fault?.type === 'wrongSchema') return {json: {nothing: ['of', 'the', 'kind']}}
  const [first] = tools
  return fault?.type === 'toolLoop' && first ? {calls: [{name: first.name, input: {}}]} : null
}

/** Applies a fault. Returns whether the call has ended. */
const spoilt = async (standIn: Simulator, fault: FaultAction, {wire, raw}: AnswerInput, outgoing: ServerResponse): Promise<boolean> => {
  if (fault.type === 'slow') await wait(fault.ms)
  if (fault.type === 'hold') await standIn.faults.wait()
  if (fault.type === 'reset') outgoing.socket?.destroy()
  if (fault.type === 'garbage') outgoing.writeHead(200, {'content-type': 'application/json'}).end('<html>{{{ not JSON')
  if (fault.type === 'redirect') outgoing.writeHead(307, {location: fault.to}).end()
  if (fault.type === 'status') {
    const message = fault.echo ? `Cannot do this: ${raw}` : 'The stand-in was told to fail'
    if (fault.retryAfter) outgoing.setHeader('retry-after', fault.retryAfter)
    send(outgoing, fault.status, wire === 'openai' ? failOpenAi(message) : failAnthropic(message))
  }
  return ['reset', 'garbage', 'redirect', 'status'].includes(fault.type) || outgoing.destroyed
}

const breakOff = (outgoing: ServerResponse, text: string) => void outgoing.write(text || ' ', () => outgoing.socket?.destroy())

const send = (outgoing: ServerResponse, status: number, body: object) => {
  outgoing.writeHead(status, {'content-type': 'application/json'}).end(JSON.stringify(body))
}

/**
 * Answers a control request for manual use: `journal`, `script` (a list of answers), `faults` (one fault), `release` and `clear`. The
 * method is ignored.
 */
const control = (standIn: Simulator, path: string, raw: Buffer, outgoing: ServerResponse) => {
  const body = raw.length ? JSON.parse(raw.toString('utf8')) : null
  const acts: Record<string, () => unknown> = {
    journal: () => standIn.journal,
    script: () => standIn.script(...body),
    faults: () => standIn.faults.add(body),
    release: () => standIn.faults.release(),
    clear: () => standIn.clear(),
  }
  const act = acts[path.slice('/_sim/'.length)]
  send(outgoing, act ? 200 : 404, (act?.() as object | undefined) ?? {})
}

/** Answers an internal error of the stand-in with 599, which no provider sends. */
const fail = (outgoing: ServerResponse, error: unknown) => {
  console.error(error)
  if (outgoing.headersSent || outgoing.destroyed) return void outgoing.socket?.destroy()
  send(outgoing, 599, failOpenAi(`The stand-in: ${error instanceof Error ? error.message : String(error)}`))
}
