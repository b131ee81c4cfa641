import {Agent, type IncomingMessage, request} from 'node:http'
import type {Bearers} from './places.ts'
import type {DrawnRequest} from './requests.ts'

export type Received = {status: number; headers: IncomingMessage['headers']; text: string; ms: number; request: string}

/** Time-out of an answer in ms, longer than the longest default wait for a job. */
const answeredWithinMs = 30_000
/** Time in ms after which the client closes an event stream. */
const listenMs = 150

export type Wire = ReturnType<typeof openWire>

/**
 * Opens a client for requests that no client library would send. `send` returns null if the request was cut and got no answer, and throws if no
 * answer arrives in time.
 */
export const openWire = (base: string) => {
  const agent = new Agent({keepAlive: true, maxSockets: 50})
  const {hostname, port} = new URL(base)
  let count = 0
  const send = (drawn: DrawnRequest, bearers: Bearers): Promise<Received | null> => {
    const id = `fuzz-${++count}`
    const bearer = bearers[drawn.bearer]
    const body = drawn.method === 'GET' || drawn.method === 'HEAD' ? null : drawn.body
    const length = body && !drawn.chunked ? {'content-length': String(body.length)} : {}
    const headers = {'x-request-id': id, ...(bearer && {authorization: `Bearer ${bearer}`}), ...length, ...drawn.headers}
    if (headers['x-request-id'] !== id) headers['x-request-id'] = id
    return exchange({hostname, port, agent, method: drawn.method, path: drawn.path, headers}, {body, cut: drawn.cut, id})
  }
  return {send, close: () => agent.destroy()}
}

type ExchangeInput = {body: Buffer | null; cut: number | null; id: string}

const exchange = (options: object, {body, cut, id}: ExchangeInput): Promise<Received | null> => {
  const {promise, resolve, reject} = Promise.withResolvers<Received | null>()
  const began = performance.now()
  const sent = request(options, response => void read(response).then(text => resolve(received(response, text)), reject))
  const received = ({statusCode = 0, headers}: IncomingMessage, text: string) => ({
    status: statusCode,
    headers,
    text,
    ms: performance.now() - began,
    request: id,
  })
  const timer = setTimeout(() => sent.destroy(new Error(`No answer in ${answeredWithinMs} ms`)), answeredWithinMs)
  sent.once('error', error => (cut === null ? reject(error) : resolve(null)))
  sent.once('close', () => clearTimeout(timer))
  if (cut === null) sent.end(body ?? undefined)
  else sent.write((body ?? Buffer.alloc(0)).subarray(0, cut), () => setTimeout(() => sent.destroy(), 5))
  return promise
}

const read = async (response: IncomingMessage): Promise<string> => {
  const isStream = (response.headers['content-type'] ?? '').includes('event-stream')
  const timer = isStream && setTimeout(() => response.destroy(), listenMs)
  const parts: Buffer[] = []
  try {
    for await (const part of response) parts.push(part)
  } catch (error) {
    if (!isStream) throw error
  } finally {
    if (timer) clearTimeout(timer)
  }
  return Buffer.concat(parts).toString()
}
