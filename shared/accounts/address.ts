import {z} from 'zod'
import {oneLine} from '../schema/name.ts'

export const EmailAddress = oneLine(z.string().trim().max(254)).pipe(z.email({pattern: z.regexes.unicodeEmail}))

/**
 * Returns an e-mail address in the form in which it is stored and compared: trimmed, with A–Z in lower case. Other letters stay unchanged: the Kelvin
 * sign K would become k, and two different mailboxes would count as one.
 */
export const normaliseAddress = (given: string): string => given.trim().replace(/[A-Z]+/g, letters => letters.toLowerCase())
