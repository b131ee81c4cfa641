import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

export const Via = z.enum(['session', 'token', 'oauth', 'payment', 'schedule', 'staff'])
export type Via = z.output<typeof Via>

const Change = z.object({
  id: z.string(),
  page: z.string(),
  subject: z.string(),
  target: z.string().nullable(),
  before: z.json(),
  after: z.json(),
  proposedBy: z.literal('ai').nullable(),
  registryVersion: z.number().nullable(),
  userId: z.string().nullable(),
  userName: z.string().nullable(),
  userEmail: z.string().nullable(),
  via: Via,
  tokenId: z.string().nullable(),
  tokenName: z.string().nullable(),
  connectorId: z.string().nullable(),
  createdAt: z.string(),
})
type ChangeRow = z.output<typeof Change>

/**
 * A change of the configuration, as it is inserted. If the change concerns a person, `targetPerson` replaces `target`, because the person's
 * name is read at display time.
 */
export type NewConfigurationChange = Omit<ChangeRow, 'userName' | 'userEmail' | 'tokenName' | 'createdAt'> & {targetPerson: string | null}

/** Inserts changes that are made together, all with the same time. */
export const insertChanges = (tx: Tx, org: string, changes: NewConfigurationChange[]) =>
  tx.query(sql.type(z.object({}))`
    with clock as materialized (select lading_now() as now)
    insert into changes (id, org_id, page, subject, target, target_person_id, before, after, proposed_by, registry_version, via, user_id,
      token_id, connector_id, created_at)
    select id, ${org}, page, subject, target, "targetPerson", before, after, "proposedBy", "registryVersion", via, "userId",
      "tokenId", "connectorId", now
    from clock, jsonb_to_recordset(${sql.jsonb(changes)}) as given (id text, page text, subject text, target text, "targetPerson" text,
      before jsonb, after jsonb, "proposedBy" text, "registryVersion" bigint, via text, "userId" text, "tokenId" text, "connectorId" text)`)

type ChangesQuery = {
  org: string
  limit: number
  /** The settings pages whose changes are listed. Null: all pages. */
  pages?: readonly string[] | null
  /** Pages that each connection has. Only the changes of `connector` are listed. */
  own?: readonly string[]
  connector?: string | null
  before?: {createdAt: string; id: string} | null
}

/** Lists the org's changes, newest first, with the current names of people. People who left the org are still named. */
export const listChanges = (db: Db, {org, limit, pages = null, own = [], connector = null, before = null}: ChangesQuery) =>
  db.any(sql.type(Change)`
    select changes.id, page, changes.subject, coalesce(target, about.name) as target, before, after, proposed_by as "proposedBy",
      registry_version as "registryVersion", user_id as "userId", author.name as "userName", author.email as "userEmail", via,
      token_id as "tokenId", api_tokens.name as "tokenName", connector_id as "connectorId", changes.created_at as "createdAt"
    from changes
    left join people author on author.id = user_id
    left join people about on about.id = target_person_id
    left join api_tokens on api_tokens.id = token_id
    where changes.org_id = ${org}
      and (${pages === null} or page = any(${sql.array([...(pages ?? [])], 'text')}))
      and (page <> all(${sql.array([...own], 'text')}) or connector_id = ${connector})
      and (${before?.id ?? null}::text is null
        or (changes.created_at, changes.id) < (${before?.createdAt ?? null}::timestamptz, ${before?.id ?? null}::text))
    order by changes.created_at desc, changes.id desc
    limit ${limit}`)
