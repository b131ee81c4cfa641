import {z} from 'zod'

/** An e-mail address as somebody types it. */
export const EmailAddress = z
  .string()
  .trim()
  .max(254)
  .pipe(z.email({pattern: z.regexes.unicodeEmail}))

/**
 * An e-mail address as it is kept and compared: trimmed, A–Z as a–z. Other letters stay as they are: some have a composed form or a
 * lower case that is another letter's (K, the Kelvin sign, becomes k), and one mailbox must not be taken for another.
 */
export const normaliseAddress = (given: string): string => given.trim().replace(/[A-Z]+/g, letters => letters.toLowerCase())
