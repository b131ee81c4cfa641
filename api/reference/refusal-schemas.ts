import {z} from 'zod'
import {type Code, codes} from '../../shared/errors.ts'
import {CrmSaid} from '../answers/common.ts'
import {meanings} from './codes.ts'
import {extras} from './refusal-extras.ts'

const Refusal = z
  .looseObject({
    error: z.string().describe('What happened and what to do, for people. The wording may change'),
    code: z.enum(codes).describe('The error code, for programs'),
    issues: z
      .array(
        z.looseObject({
          path: z
            .array(z.union([z.string(), z.number()]))
            .optional()
            .describe('Position in the request'),
          message: z.string().optional().describe('What is wrong'),
        }),
      )
      .optional()
      .describe('With `INVALID` and similar codes: the issues and their positions'),
    retryAfterMs: z.int().nonnegative().optional().describe('How long to wait, in milliseconds. `Retry-After` has the same in seconds'),
    request: z.string().optional().describe('With `INTERNAL`: the request id for support'),
    crm: CrmSaid.optional().describe('With `CRM_REFUSED` and `SCOPE_MISSING`: the error of the CRM'),
    written: z.boolean().optional().describe('With refused writes: false if nothing was sent to the CRM'),
    ...extras,
  })
  .meta({id: 'Refusal', description: 'An error, with further keys for some codes'})

export const refusalSchema = (possible: readonly Code[]) => Refusal.meta({properties: {code: {enum: [...possible]}}})

export const describeCodes = (possible: readonly Code[]) => possible.map(code => `- \`${code}\`: ${meanings[code]}`).join('\n')

const RequestId = {
  description: 'Id of the request, for support',
  schema: {type: 'string'},
  example: 'req_01k9m0v6f8e2r4t7w3y5z1a2b3',
} as const
const RetryAfter = {
  description: 'How long to wait before the next attempt, in seconds',
  schema: {type: 'integer', minimum: 1},
  example: 5,
} as const

export const components = {headers: {RequestId, RetryAfter}}
export const requestId = {'X-Request-Id': {$ref: '#/components/headers/RequestId'}} as const
export const retryAfter = {'Retry-After': {$ref: '#/components/headers/RetryAfter'}} as const
