import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Connector = z.object({
  id: z.string(),
  org: z.string(),
  name: z.string(),
  kind: z.string(),
  dc: z.string(),
  state: z.enum(['connected', 'ended', 'disconnected']),
  crmOrgId: z.string(),
  apiDomain: z.string(),
  crmUserId: z.string(),
  crmUserName: z.string(),
  scopes: z.array(z.string()),
  createdAt: z.string(),
})
export type ConnectorRow = z.output<typeof Connector>

const columns = sql.fragment`id, org_id as org, name, kind, dc, state, crm_org_id as "crmOrgId", api_domain as "apiDomain",
  crm_user_id as "crmUserId", crm_user_name as "crmUserName", scopes, created_at as "createdAt"`

/** Who consented to what, as the CRM told it when the connection was made. */
export type NewConnector = {
  id: string
  org: string
  name: string
  dc: string
  crmOrgId: string
  apiDomain: string
  crmUserId: string
  crmUserName: string
  scopes: string[]
  person: string | null
}

/** `id` is the caller's `newId('con')`: this folder imports packages only. The grant is kept in the same transaction, by `keepGrant`. */
export const insertConnector = (tx: Tx, connector: NewConnector) =>
  tx.one(sql.type(z.object({id: z.string()}))`
    insert into connectors (id, org_id, name, dc, crm_org_id, api_domain, crm_user_id, crm_user_name, scopes, created_by)
    values (${connector.id}, ${connector.org}, ${connector.name}, ${connector.dc}, ${connector.crmOrgId}, ${connector.apiDomain},
      ${connector.crmUserId}, ${connector.crmUserName}, ${sql.array(connector.scopes, 'text')}, ${connector.person})
    returning id`)

/**
 * The same CRM user consented to the same CRM org again: his newest connection is connected once more, under its own id, so that
 * imports and schedules which name it go on. Null when the org has none.
 */
export const reconnect = (
  tx: Tx,
  {org, dc, crmOrgId, apiDomain, crmUserId, crmUserName, scopes}: Omit<NewConnector, 'id' | 'name' | 'person'>,
) =>
  tx.maybeOne(sql.type(z.object({id: z.string()}))`
    update connectors set state = 'connected', crm_user_name = ${crmUserName}, scopes = ${sql.array(scopes, 'text')}
    where id = (
      select id from connectors
      where org_id = ${org} and dc = ${dc} and crm_org_id = ${crmOrgId} and api_domain = ${apiDomain} and crm_user_id = ${crmUserId}
      order by id desc limit 1 for update)
    returning id`)

/** Null for another org's connector and for no connector alike. */
export const findConnector = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} and id = ${id}`)

/** For the adapter, whose callers have already found the connector to be the org's own. */
export const readConnector = (db: Db, id: string) => db.maybeOne(sql.type(Connector)`select ${columns} from connectors where id = ${id}`)

/** Every connection of the org, ended and disconnected ones too, oldest first. */
export const listConnectors = (db: Db, org: string) =>
  db.any(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} order by id`)

/** The CRM no longer honours the grant: someone has to connect again. A connection someone disconnected stays so. */
export const endConnector = (db: Db, id: string) =>
  db.query(sql.type(z.object({}))`update connectors set state = 'ended' where id = ${id} and state = 'connected'`)

/** Null when the connector is gone. */
export const findConnectorState = (db: Db, id: string) =>
  db.maybeOneFirst(sql.type(Connector.pick({state: true}))`select state from connectors where id = ${id}`)
