import {z} from 'zod'

/**
 * JSON numbers are parsed as doubles, so numbers of 2^53 or more, positive or negative, are refused: they may have lost digits. A number too large
 * for a double would be sent as null.
 */
export const Payload = z
  .record(z.string(), z.unknown())
  .refine(isExact, 'A number of 9007199254740992 or more, positive or negative, would lose digits. Send it as text')
  .describe("Values by the field's API name, in the CRM's format. Send numbers of 2^53 or more as text")

function isExact(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact)
}
