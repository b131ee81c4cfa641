import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Plan = z.object({
  id: z.string(),
  key: z.string(),
  limits: z.object({rowsPerRun: z.number(), fileBytes: z.number(), historyDays: z.number()}),
})
export type Plan = z.infer<typeof Plan>

export const findPlan = (db: Db, org: string) =>
  db.one(sql.type(Plan)`
    select p.id, p.key, p.limits from plan_versions p join orgs o on o.plan_version_id = p.id where o.id = ${org}`)
