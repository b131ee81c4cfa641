import {z} from 'zod'

/** `limit` is never an error: above the most it is the most, and anything but a whole number above zero is the default. */
export const limitOf = ({usual, most}: {usual: number; most: number}) =>
  z
    .unknown()
    .optional()
    .transform(given => (typeof given === 'string' && /^\d+$/.test(given) && Number(given) > 0 ? Math.min(Number(given), most) : usual))
