import {z} from 'zod'
import {Json} from './common.ts'

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
export const McpRequest = oneOrMore(Message)
export const McpAnswer = oneOrMore(Answered)
