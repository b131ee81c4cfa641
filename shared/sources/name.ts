import {z} from 'zod'

/** What a person calls a file. */
export const Name = z
  .string()
  .min(1)
  .max(255)
  .refine(text => !/\p{Cc}/u.test(text) && text.isWellFormed(), 'No control characters')
