import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Staff = z.object({id: z.string(), name: z.string(), email: z.string()})
/** A staff member as recorded with the action. Null for the deployment operator, who is known only by ADMIN_TOKEN. */
export type Staff = z.output<typeof Staff> | null

const Action = z.object({
  id: z.string(),
  kind: z.string(),
  staff: Staff.nullable(),
  org: z.string().nullable(),
  person: z.string().nullable(),
  reason: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
  createdAt: z.string(),
})

type NewAction = {
  id: string
  kind: string
  staff: Staff
  org: string | null
  person: string | null
  reason: string | null
  detail: Record<string, unknown>
}

/** Records a staff action. Adds to `detail` as `roles`: the person's role in each org at that time, by org id. */
export const insertStaffAction = (db: Db, {id, kind, staff, org, person, reason, detail}: NewAction) =>
  db.query(sql.type(z.object({}))`
    insert into staff_actions (id, kind, staff_id, staff_name, staff_email, org_id, person_id, reason, detail)
    values (${id}, ${kind}, ${staff?.id ?? null}, ${staff?.name ?? null}, ${staff?.email ?? null}, ${org}, ${person}, ${reason},
      ${sql.jsonb(detail as never)} || coalesce(
        (select jsonb_build_object('roles', jsonb_object_agg(org_id, role)) from members where person_id = ${person} having count(*) > 0), '{}'))`)

/** Deletes the record of an action that did not happen. */
export const deleteStaffAction = (db: Db, id: string) => db.query(sql.type(z.object({}))`delete from staff_actions where id = ${id}`)

export const listStaffActions = (db: Db, {org, before, limit}: {org: string | null; before: string | null; limit: number}) =>
  db.any(sql.type(Action)`
    select id, kind, org_id as org, person_id as person, reason, detail, created_at as "createdAt",
      case when staff_id is not null then jsonb_build_object('id', staff_id, 'name', staff_name, 'email', staff_email) end as staff
    from staff_actions
    where (${org}::text is null or org_id = ${org}) and (${before}::text is null or id < ${before})
    order by id desc limit ${limit}`)
