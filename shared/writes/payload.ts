import {z} from 'zod'

/**
 * Fields and values as they go to the CRM. JSON's own numbers are read as doubles here: one of 2^53 or more may be another by now, and one
 * too large for a double would go out as null.
 */
export const Payload = z
  .record(z.string(), z.unknown())
  .refine(isExact, 'A number of 9007199254740992 or more, either way, would not arrive as it was sent: send it as text')
  .describe('By API name of a field, its value as the CRM takes it. Numbers of 2^53 or more go as text')

function isExact(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact)
}
