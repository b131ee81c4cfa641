import {z} from 'zod'
import {sql, type Tx} from './database.ts'
import {Role} from './members.ts'

const Id = z.object({id: z.string()})

/** Lists the person's orgs in a fixed order, for callers that lock all of them. */
export const listOrgsOf = (tx: Tx, person: string) =>
  tx.anyFirst(sql.type(Id)`select org_id as id from members where person_id = ${person} order by org_id`)

/** Lists the orgs that would keep members but no owner if this person left. */
export const listLastOwned = (tx: Tx, person: string) =>
  tx.any(sql.type(Id.extend({name: z.string()}))`
    select orgs.id, orgs.name from members join orgs on orgs.id = org_id
    where person_id = ${person} and role = 'owner'
      and exists (select from members other where other.org_id = orgs.id and other.person_id <> ${person})
      and not exists (select from members other where other.org_id = orgs.id and other.person_id <> ${person} and other.role = 'owner')
    order by orgs.id`)

/** Makes the remaining member with the highest role an owner. Among equals, the member who joined first is chosen. `before`: their role until now. */
export const promoteHeir = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.one(sql.type(z.object({person: z.string(), before: Role}))`
    update members set role = 'owner' from (
      select id, role from members where org_id = ${org} and person_id <> ${person}
      order by array_position(array['admin', 'builder', 'operator'], role), created_at, id limit 1) heir
    where members.id = heir.id returning person_id as person, heir.role as before`)
