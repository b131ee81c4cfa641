import {z} from 'zod'
import {Answer, Count} from './common.ts'

const Part = (what: string) => z.enum(['ok', 'down']).describe(`${what}: \`ok\` if it answered within three seconds`)

const parts = {
  database: Part('The database'),
  queue: Part('The job queue'),
  migrations: Answer({
    applied: Count('Migrations applied to this database'),
    pending: z.array(z.string()).describe('Names of migrations of this release that are not applied'),
  })
    .optional()
    .describe('Only with `deep=1`, and if the database answers'),
}

export const Well = Answer({status: z.literal('ok').describe('All parts are up'), ...parts}).meta({id: 'Health'})

export const Unwell = Answer({
  error: z.string().describe('What happened, for people'),
  code: z.literal('UNAVAILABLE').describe('The error code, for programs'),
  status: z.literal('unwell').describe('At least one part is down'),
  ...parts,
})
