import {z} from 'zod'

/**
 * Fields and values for the CRM. JSON numbers are parsed as doubles, so two kinds of numbers are refused. An integer of 2^53 or more may
 * have changed, and a number too large for a double would be sent as null.
 */
export const Payload = z
  .record(z.string(), z.unknown())
  .refine(isExact, 'A number of 9007199254740992 or more, positive or negative, would lose digits. Send it as text')
  .describe("Values by the field's API name, in the CRM's format. Send numbers of 2^53 or more as text")

function isExact(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact)
}
