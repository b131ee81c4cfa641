import {z} from 'zod'
import {oneLine} from '../name.ts'

/** What a person calls a file. */
export const Name = oneLine(z.string().min(1).max(255)).refine(text => text.isWellFormed(), 'The name is no valid Unicode text')
