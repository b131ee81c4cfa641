import type {CallToolResult, McpServer} from '@modelcontextprotocol/server'
import type {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {newId} from '../../shared/ids.ts'
import type {openLine} from '../../shared/line.ts'
import type {McpInput} from './mount.ts'

/** A tool that reads. Its description is a constant: what an org has named cannot write to whoever reads it. */
export type Tool<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> = {
  name: string
  title: string
  description: string
  input: I
  output: O
  run(input: McpInput, asked: z.output<I>, signal: AbortSignal): Promise<z.input<O>>
}

/** Gives back what it is given: the types of `run` come from the schemas beside it. */
export const tool = <I extends z.ZodType, O extends z.ZodType>(declared: Tool<I, O>): Tool => declared as unknown as Tool

type Place = McpInput & {inTurn: ReturnType<typeof openLine>}

export const addTool = (server: McpServer, input: Place, {name, title, description, input: inputSchema, output, run}: Tool): void => {
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

/** What is refused is the tool's answer, in the words of the API: whoever called it can do otherwise. */
const answer = async ({log}: Place, name: string, signal: AbortSignal, run: () => Promise<unknown>): Promise<CallToolResult> => {
  try {
    const structuredContent = plain(await run()) as Record<string, unknown>
    return {structuredContent, content: [{type: 'text', text: JSON.stringify(structuredContent)}]}
  } catch (error) {
    if (error instanceof Refusal) return {isError: true, content: [{type: 'text', text: JSON.stringify(plain(error.envelope))}]}
    // Nobody hears it, and nothing went wrong here.
    if (signal.aborted) return {isError: true, content: []}
    const reference = newId('req')
    log.error({err: error, tool: name, reference}, 'an MCP tool failed')
    const envelope = {error: `Something went wrong here. Support finds it by the request ${reference}`, code: 'INTERNAL'}
    return {isError: true, content: [{type: 'text', text: JSON.stringify(envelope)}]}
  }
}

const longestText = 2_000

/** Texts of an org as they go to a program that a model reads: of a bounded length, without what is not seen or turns the writing round. */
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

/** The first of a list, and whether that is not all of it. */
export const firstOf = <T>(list: readonly T[], most: number) => ({some: list.slice(0, most), more: list.length > most})
