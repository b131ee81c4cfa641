import {Readable} from 'node:stream'
import type {ReadableStream} from 'node:stream/web'
import type {CreateMcpHandlerOptions, McpHttpHandler, McpServer} from '@modelcontextprotocol/server'
import type {Refusal} from '../../shared/errors.ts'
import {scope} from '../../shared/oauth/metadata.ts'
import type {Member} from '../access.ts'
import {McpAnswer, McpRequest} from '../answers/mcp.ts'
import {assertPlain} from '../body.ts'
import {type Reply, reply} from '../reply.ts'
import {type Asked, type Route, route, type Tools} from '../route.ts'
import {challengeOf, guardMcp} from './guard.ts'

/** As what somebody asks for is told apart from what anybody else does: the caller of the bearer, never of an argument. */
export type McpInput = Tools & {caller: Member; request: Asked}
type Build = (input: McpInput, sdk: typeof import('@modelcontextprotocol/server')) => McpServer

const mostBytes = 1024 ** 2
/** Messages in one body, which clients of before 2025-06-18 may send. */
const mostTogether = 20
/** A stream that a client holds open for changes ends then, and it asks again. */
const longestMs = 600_000
const mostStreams = 200

/**
 * A server of the Model Context Protocol (Streamable HTTP) behind the gates of every route: stateless, so each request is answered by a server
 * built for it, of either era of the protocol. Its answers are JSON-RPC; what is refused before them is told in the envelope. `bus`: who says
 * that a list has changed, to those that listen; ours never do.
 */
export const mountMcp = (build: Build, more: Pick<CreateMcpHandlerOptions, 'bus'> = {}): Route => {
  let opened: Promise<McpHttpHandler> | null = null
  return route({
    method: 'post',
    path: '/mcp',
    access: {role: 'operator', oauth: true},
    effect: 'read',
    summary: 'Speak the Model Context Protocol',
    description:
      'Streamable HTTP, stateless, of both eras of the protocol. Five tools show an assistant the modules and fields of the org and let it try expressions; none writes. With an API token, a session, or the token of a client a person let in.',
    sends: {type: 'application/json', what: 'One message of JSON-RPC, or a batch of at most twenty', schema: McpRequest},
    answers: {
      200: [McpAnswer, {type: 'text/event-stream', what: 'The same as server-sent events, for a client that asks for them'}],
      202: {type: null, what: 'What was sent asked for nothing'},
      400: McpAnswer,
      404: McpAnswer,
      406: McpAnswer,
      415: McpAnswer,
    },
    refusals: ['HOST_NOT_ALLOWED', 'ORIGIN_NOT_ALLOWED'],
    example: {body: {jsonrpc: '2.0', id: 1, method: 'tools/list'}},
    body: 'bytes',
    mostBytes,
    guard: guardMcp,
    challenge: config => challengeOf(config),
    async handle({body, ...input}) {
      const message = readMessage(body)
      if ('refusal' in message) return reply({status: 400, json: message.refusal})
      opened ??= open(build, input, more)
      const {signal, release} = bound(input.request)
      try {
        const response = await (await opened).fetch(requestOf(input, body, signal), {authInfo: infoOf(input), ...message})
        return await answerOf(response, release)
      } catch (error) {
        release()
        throw error
      }
    },
  })
}

/** Loaded when the first client comes: most processes are never asked. */
const open = async (build: Build, {log}: Pick<Tools, 'log'>, more: object): Promise<McpHttpHandler> => {
  const sdk = await import('@modelcontextprotocol/server')
  // The handler outlives the request it was opened for.
  const house = log.child({request: null})
  return sdk.createMcpHandler(({authInfo}) => build(authInfo!.extra!.input as McpInput, sdk), {
    ...{maxRequestBodySize: mostBytes, maxSubscriptions: mostStreams, ...more},
    // Its words may hold what the client sent.
    onerror: ({name}) => house.debug({name}, 'an MCP request was refused'),
  })
}

/** The SDK is never left a body to read for itself, which it would do with other rules. */
const readMessage = (body: Buffer): {parsedBody: unknown} | {refusal: object} => {
  let parsedBody: unknown
  try {
    parsedBody = JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(body))
  } catch {
    return {refusal: invalid('The body is not JSON in UTF-8', -32_700)}
  }
  if (Array.isArray(parsedBody) && parsedBody.length > mostTogether)
    return {refusal: invalid(`A batch has at most ${mostTogether} messages`)}
  try {
    assertPlain(parsedBody)
  } catch (error) {
    return {refusal: invalid((error as Refusal).message)}
  }
  return {parsedBody}
}

const invalid = (message: string, code = -32_600) => ({jsonrpc: '2.0', error: {code, message}, id: null})

/** Until the client goes, this process is asked to stop, or it took too long. What is left of that is let go of with the answer. */
const bound = ({signal, draining}: Asked) => {
  const ending = new AbortController()
  const end = () => ending.abort()
  const timer = setTimeout(end, longestMs).unref()
  for (const source of [signal, draining]) source.addEventListener('abort', end, {once: true})
  const release = () => {
    clearTimeout(timer)
    for (const source of [signal, draining]) source.removeEventListener('abort', end)
  }
  return {signal: ending.signal, release}
}

const requestOf = ({config, request}: McpInput, body: Buffer, signal: AbortSignal): Request => {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    [value].flat().map(one => [name, one ?? ''] as [string, string]),
  )
  // The bearer has done its work at the gates.
  const told = headers.filter(([name]) => !['authorization', 'cookie', 'content-length', 'transfer-encoding'].includes(name))
  return new Request(new URL('/mcp', config.PUBLIC_URL), {method: 'POST', headers: told, body, signal})
}

const infoOf = (input: McpInput) => {
  const {grant, token, session} = input.caller
  return {token: '', clientId: grant ?? token ?? session ?? '', scopes: [scope], extra: {input}}
}

const answerOf = async (response: Response, release: () => void): Promise<Reply> => {
  const {status, body} = response
  const headers: Record<string, string> = {'cache-control': 'no-store', ...Object.fromEntries(response.headers)}
  if (body !== null && headers['content-type']?.includes('event-stream')) {
    const stream = Readable.fromWeb(body as ReadableStream)
    stream.once('close', release)
    return reply({status, headers, body: stream})
  }
  const whole = body === null ? null : Buffer.from(await response.arrayBuffer())
  release()
  return reply({status, headers, body: whole})
}
