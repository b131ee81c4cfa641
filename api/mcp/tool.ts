import type {CallToolResult, McpServer} from '@modelcontextprotocol/server'
import type {z} from 'zod'
import type {openLimiter} from '../../shared/concurrency/limiter.ts'
import {Refusal} from '../../shared/errors.ts'
import {newId} from '../../shared/ids.ts'
import type {McpInput} from './mount.ts'

/** A read-only tool. Its description is a constant, so that names chosen by an org cannot inject instructions. */
export type Tool<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> = {
  name: string
  title: string
  description: string
  input: I
  output: O
  run(input: McpInput, asked: z.output<I>, signal: AbortSignal): Promise<z.input<O>>
}

/** Returns its argument with the types of `run` inferred from the schemas. */
export const tool = <I extends z.ZodType, O extends z.ZodType>(declared: Tool<I, O>): Tool => declared as unknown as Tool

type ToolInput = McpInput & {inTurn: ReturnType<typeof openLimiter>}

export const addTool = (server: McpServer, input: ToolInput, {name, title, description, input: inputSchema, output, run}: Tool): void => {
  const annotations = {readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false}
  server.registerTool(name, {title, description, inputSchema, outputSchema: output, annotations}, async (asked, {mcpReq}) =>
    answer(input, name, mcpReq.signal, () =>
      input.inTurn(async () => {
        mcpReq.signal.throwIfAborted()
        return run(input, asked, mcpReq.signal)
      }),
    ),
  )
}

/** Runs a tool and returns its result. A refusal becomes a result too, so that the model can correct its call. */
const answer = async ({log}: ToolInput, name: string, signal: AbortSignal, run: () => Promise<unknown>): Promise<CallToolResult> => {
  try {
    const structuredContent = plain(await run()) as Record<string, unknown>
    return {structuredContent, content: [{type: 'text', text: JSON.stringify(structuredContent)}]}
  } catch (error) {
    if (error instanceof Refusal) return {isError: true, content: [{type: 'text', text: JSON.stringify(plain(error.envelope))}]}
    // The client has disconnected, so there is nothing to report.
    if (signal.aborted) return {isError: true, content: []}
    const reference = newId('req')
    log.error({err: error, tool: name, reference}, 'an MCP tool failed')
    const envelope = {
      error: `Something went wrong. If it happens again, contact support with the request id ${reference}`,
      code: 'INTERNAL',
    }
    return {isError: true, content: [{type: 'text', text: JSON.stringify(envelope)}]}
  }
}

const longestText = 2_000

/** Limits the length of texts, and removes invisible and bidirectional control characters, because a model reads them. */
const plain = (value: unknown): unknown => {
  if (typeof value === 'string') return plainText(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [plainText(name), plain(part)]))
}

const plainText = (text: string) => {
  const seen = text.replaceAll(/[^\n\r\t\P{C}]|[\u2028\u2029]/gu, ' ')
  return seen.length > longestText ? `${seen.slice(0, longestText).replace(/[\uD800-\uDBFF]$/, '')}…` : seen
}

export const firstOf = <T>(list: readonly T[], most: number) => ({some: list.slice(0, most), more: list.length > most})
