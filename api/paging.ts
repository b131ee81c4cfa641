import {z} from 'zod'
import {withJsonSchema} from '../shared/schema/json-schema.ts'

/**
 * Returns the schema of the `limit` parameter, which accepts every value. A value above the maximum becomes the maximum. An invalid value becomes the
 * default.
 */
export const limitOf = ({usual, most, what = 'Maximum number of items'}: {usual: number; most: number; what?: string}) =>
  withJsonSchema(z.unknown().optional(), z.int().min(1).max(most).default(usual))
    .transform(given => (typeof given === 'string' && /^\d+$/.test(given) && Number(given) > 0 ? Math.min(Number(given), most) : usual))
    .describe(`${what}. At most ${most}; any value that is not a positive whole number means ${usual}`)

export const Cursor = z
  .string()
  .optional()
  .describe('The `nextCursor` of the previous page, with the same list and filters. Omit it for the first page')
