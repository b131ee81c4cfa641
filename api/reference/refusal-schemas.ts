import {z} from 'zod'
import {type Code, codes} from '../../shared/errors.ts'
import {CrmSaid} from '../answers/common.ts'
import {meanings} from './codes.ts'
import {extras} from './refusal-extras.ts'

/** The envelope of every refusal, with the further keys that stand in it by code. */
const Refusal = z
  .looseObject({
    error: z.string().describe('One sentence for a person: what is wrong and what to do. Its words may change'),
    code: z.enum(codes).describe('What programs look at'),
    issues: z
      .array(
        z.looseObject({
          path: z
            .array(z.union([z.string(), z.number()]))
            .optional()
            .describe('Where, from the outside in'),
          message: z.string().optional().describe('Why'),
        }),
      )
      .optional()
      .describe('With `INVALID` and other codes of content: where it does not fit, and why'),
    retryAfterMs: z.number().optional().describe('How long to wait, in milliseconds; `Retry-After` says it in seconds'),
    request: z.string().optional().describe('With `INTERNAL`: what support finds it by'),
    crm: CrmSaid.optional().describe('With `CRM_REFUSED`: what the CRM said'),
    written: z.boolean().optional().describe('With refusals of writes: false where nothing was sent to the CRM'),
    ...extras,
  })
  .meta({id: 'Refusal', description: 'What is refused, with further keys by code'})

/** The envelope, whose code is one of these. */
export const refusalSchema = (possible: readonly Code[]) => Refusal.meta({properties: {code: {enum: [...possible]}}})

export const sayCodes = (possible: readonly Code[]) => possible.map(code => `- \`${code}\`: ${meanings[code]}`).join('\n')

const RequestId = {
  description: 'What support finds the request by: the one that was sent, or one made here',
  schema: {type: 'string'},
  example: 'req_01k9m0v6f8e2r4t7w3y5z1a2b3',
} as const
const RetryAfter = {
  description: 'How long to wait before asking again, in seconds',
  schema: {type: 'integer', minimum: 1},
  example: 5,
} as const

export const components = {headers: {RequestId, RetryAfter}}
export const requestId = {'X-Request-Id': {$ref: '#/components/headers/RequestId'}} as const
export const retryAfter = {'Retry-After': {$ref: '#/components/headers/RetryAfter'}} as const
