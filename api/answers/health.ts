import {z} from 'zod'
import {Answer, Count} from './common.ts'

const Part = (what: string) => z.enum(['ok', 'down']).describe(`${what}: whether it answered within three seconds`)

const parts = {
  database: Part('The database'),
  queue: Part('The queue of jobs'),
  migrations: Answer({
    applied: Count('Migrations this database has seen'),
    pending: z.array(z.string()).describe('Migrations of this release it has not seen, by name'),
  })
    .optional()
    .describe('With `deep=1` alone, while the database answers'),
}

export const Well = Answer({status: z.literal('ok').describe('Every part is well'), ...parts}).meta({id: 'Health'})

export const Unwell = Answer({
  error: z.string().describe('One sentence for a person'),
  code: z.literal('UNAVAILABLE').describe('What programs look at'),
  status: z.literal('unwell').describe('Not every part is well'),
  ...parts,
})
