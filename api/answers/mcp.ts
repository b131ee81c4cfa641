import {z} from 'zod'
import {Json} from './common.ts'

const id = z.union([z.string(), z.number()]).nullable().optional().describe('Of the request this answers')
const jsonrpc = z.literal('2.0').describe('The protocol of the messages')

const Message = z
  .looseObject({
    jsonrpc,
    id,
    method: z
      .string()
      .optional()
      .meta({description: 'What is asked for', examples: ['tools/call']}),
    params: Json('By the method').optional(),
  })
  .meta({id: 'JsonRpcMessage', description: 'A message of JSON-RPC 2.0, as the Model Context Protocol has it'})

const Answered = z
  .looseObject({
    jsonrpc,
    id,
    result: Json('By the method; absent where it failed').optional(),
    error: z
      .looseObject({
        code: z.int().describe('Of JSON-RPC or of the protocol'),
        message: z.string().describe('What is wrong'),
        data: Json('More of it').optional(),
      })
      .optional()
      .describe('Why it failed; absent where it did not'),
  })
  .meta({id: 'JsonRpcAnswer', description: 'An answer of JSON-RPC 2.0, as the Model Context Protocol has it'})

const oneOrMore = <M extends z.ZodType>(one: M) => z.union([one, z.array(one)])

/** One message, or of clients of before 2025-06-18 a batch of at most twenty. */
export const McpRequest = oneOrMore(Message)
export const McpAnswer = oneOrMore(Answered)
