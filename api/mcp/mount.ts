import {Readable} from 'node:stream'
import type {ReadableStream} from 'node:stream/web'
import type {CreateMcpHandlerOptions, McpHttpHandler, McpServer} from '@modelcontextprotocol/server'
import {z} from 'zod'
import type {Refusal} from '../../shared/errors.ts'
import type {MemberCaller} from '../access.ts'
import {Json} from '../answers/common.ts'
import {assertPlain} from '../body.ts'
import {scope} from '../oauth/metadata.ts'
import {type Reply, reply} from '../reply.ts'
import {type ApiDeps, type ApiRequest, type Route, route} from '../route.ts'
import {challengeOf, guardMcp} from './guard.ts'

const id = z.union([z.string(), z.number()]).nullable().optional().describe('The id of the request')
const jsonrpc = z.literal('2.0').describe('The JSON-RPC version')

const Message = z
  .looseObject({
    jsonrpc,
    id,
    method: z
      .string()
      .optional()
      .meta({description: 'The method', examples: ['tools/call']}),
    params: Json('Depends on the method').optional(),
  })
  .meta({id: 'JsonRpcMessage', description: 'A JSON-RPC 2.0 message of the Model Context Protocol'})

const Answered = z
  .looseObject({
    jsonrpc,
    id,
    result: Json('Depends on the method. Absent on failure').optional(),
    error: z
      .looseObject({
        code: z.int().describe('Error code of JSON-RPC or of the protocol'),
        message: z.string().describe('What is wrong'),
        data: Json('Further details').optional(),
      })
      .optional()
      .describe('Why it failed. Absent on success'),
  })
  .meta({id: 'JsonRpcAnswer', description: 'A JSON-RPC 2.0 response of the Model Context Protocol'})

const oneOrMore = <M extends z.ZodType>(one: M) => z.union([one, z.array(one)])

/** One message or, from clients older than protocol version 2025-06-18, a batch of at most 20. */
const McpRequest = oneOrMore(Message)

const McpAnswer = oneOrMore(Answered)

/** The input of a tool. Its caller comes from the bearer token, never from an argument. */
export type McpInput = ApiDeps & {caller: MemberCaller; request: ApiRequest}
type Build = (input: McpInput, sdk: typeof import('@modelcontextprotocol/server')) => McpServer

const mostBytes = 1024 ** 2
/** The limit on the messages of one batch. */
const mostTogether = 20
/** The longest duration of a stream, in ms. Clients then reconnect. */
const longestMs = 600_000
const mostStreams = 200

/**
 * Returns the route of a stateless MCP server (Streamable HTTP). Each request gets its own server instance, for either version of the
 * protocol. Refusals before the message is parsed use the error envelope; later errors use JSON-RPC. `bus` announces changes of the tool list;
 * only tests pass it.
 */
export const mountMcp = (build: Build, more: Pick<CreateMcpHandlerOptions, 'bus'> = {}): Route => {
  let opened: Promise<McpHttpHandler> | null = null
  return route({
    method: 'post',
    path: '/mcp',
    operationId: 'speakMcp',
    tag: 'MCP',
    access: {role: 'operator', oauth: true},
    effect: 'read',
    summary: 'Send a Model Context Protocol message',
    description:
      'Stateless Streamable HTTP. Six read-only tools let an assistant read modules and fields of the org, test expressions, propose mappings, validate templates and forecast imports. Accepts an API token, a session, or the token of an authorised MCP client.',
    sends: {type: 'application/json', what: 'A JSON-RPC message, or a batch of at most 20', schema: McpRequest},
    answers: {
      200: [McpAnswer, {type: 'text/event-stream', what: 'The same as server-sent events, if the client requests them'}],
      202: {type: null, what: 'The message needs no response'},
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

/** Opens the handler on first use, because most processes serve no MCP client. */
const open = async (build: Build, {log}: Pick<ApiDeps, 'log'>, more: object): Promise<McpHttpHandler> => {
  const sdk = await import('@modelcontextprotocol/server')
  // The handler outlives the request that opened it, so its log names no request.
  const house = log.child({request: null})
  return sdk.createMcpHandler(({authInfo}) => build(authInfo!.extra!.input as McpInput, sdk), {
    maxRequestBodySize: mostBytes,
    maxSubscriptions: mostStreams,
    ...more,
    // The error message may contain client data, so only its name is logged.
    onerror: ({name}) => house.debug({name}, 'an MCP request was refused'),
  })
}

/** Parses the body, because the SDK would parse it by other rules. Returns a JSON-RPC error if the body is invalid or the batch too large. */
const readMessage = (body: Buffer): {parsedBody: unknown} | {refusal: object} => {
  let parsedBody: unknown
  try {
    parsedBody = JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(body))
  } catch {
    return {refusal: invalid('The body is not valid JSON in UTF-8', -32_700)}
  }
  if (Array.isArray(parsedBody) && parsedBody.length > mostTogether)
    return {refusal: invalid(`The batch is too large. Send at most ${mostTogether} messages`)}
  try {
    assertPlain(parsedBody)
  } catch (error) {
    return {refusal: invalid((error as Refusal).message)}
  }
  return {parsedBody}
}

const invalid = (message: string, code = -32_600) => ({jsonrpc: '2.0', error: {code, message}, id: null})

/**
 * Returns a signal that aborts when the client disconnects, this process drains or the time limit passes. `release` removes the listeners.
 */
const bound = ({signal, draining}: ApiRequest) => {
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
  // The credentials were checked before this handler, so the SDK does not receive them.
  const forwardedHeaders = headers.filter(([name]) => !['authorization', 'cookie', 'content-length', 'transfer-encoding'].includes(name))
  return new Request(new URL('/mcp', config.PUBLIC_URL), {method: 'POST', headers: forwardedHeaders, body, signal})
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
