import {z} from 'zod'
import {isExact, notExact} from '../../schema/exact-numbers.ts'

export const Payload = z
  .record(z.string(), z.unknown())
  .refine(isExact, notExact)
  .describe("Values by the field's API name, in the CRM's format. Send numbers of 2^53 or more as text")
