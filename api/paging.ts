import {z} from 'zod'
import {drawnAs} from '../shared/drawn.ts'

/** `limit` is never an error: above the most it is the most, and anything but a whole number above zero is the default. */
export const limitOf = ({usual, most, what = 'At most so many'}: {usual: number; most: number; what?: string}) =>
  drawnAs(z.unknown().optional(), z.int().min(1).max(most).default(usual))
    .transform(given => (typeof given === 'string' && /^\d+$/.test(given) && Number(given) > 0 ? Math.min(Number(given), most) : usual))
    .describe(`${what}; more than ${most} is ${most}, and anything but a whole number above zero is ${usual}`)

/** The place in a list that the page before ended at. */
export const Cursor = z
  .string()
  .optional()
  .describe('The `nextCursor` of the page before, of the same list and filters; left out: the first page')
