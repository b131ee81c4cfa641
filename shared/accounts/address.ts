import {z} from 'zod'
import {oneLine} from '../schema/name.ts'

export const EmailAddress = oneLine(z.string().trim().max(254)).pipe(z.email({pattern: z.regexes.unicodeEmail}))

/**
 * Normalises an e-mail address for storage and comparison: trims it and converts only A–Z to lower case. Full lower-casing would turn the Kelvin sign
 * (U+212A) into k, and so treat two different mailboxes as one.
 */
export const normaliseAddress = (given: string): string => given.trim().replace(/[A-Z]+/g, letters => letters.toLowerCase())
