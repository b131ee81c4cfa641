import {z} from 'zod'
import {oneLine} from '../../schema/name.ts'

export const Name = oneLine(z.string().min(1).max(255)).refine(text => text.isWellFormed(), 'The name is not valid Unicode text')
