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
  /** Nothing is written through it until somebody lifts the pause. */
  writesPaused: z.boolean(),
  createdAt: z.string(),
})
export type ConnectorRow = z.output<typeof Connector>

const columns = sql.fragment`id, org_id as org, name, kind, dc, state, crm_org_id as "crmOrgId", api_domain as "apiDomain",
  crm_user_id as "crmUserId", crm_user_name as "crmUserName", scopes, writes_paused as "writesPaused", created_at as "createdAt"`

/** Who consented to what, as the CRM told it when the connection was made. */
type NewConnector = {
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
  /** Zoho's when none is given. */
  kind?: string
  document?: object
}

/** `id` is the caller's `newId('con')`: this folder imports packages only. The grant is kept in the same transaction, by `keepGrant`. */
export const insertConnector = (tx: Tx, connector: NewConnector) =>
  tx.one(sql.type(z.object({id: z.string()}))`
    insert into connectors (id, org_id, name, dc, crm_org_id, api_domain, crm_user_id, crm_user_name, scopes, created_by, kind, document)
    values (${connector.id}, ${connector.org}, ${connector.name}, ${connector.dc}, ${connector.crmOrgId}, ${connector.apiDomain},
      ${connector.crmUserId}, ${connector.crmUserName}, ${sql.array(connector.scopes, 'text')}, ${connector.person},
      ${connector.kind ?? 'zoho'}, ${connector.document ? sql.jsonb(connector.document as never) : null})
    returning id`)

/**
 * The same CRM user consented to the same CRM org again: his newest connection is connected once more, under its own id, so that
 * imports and schedules which name it go on. Null when the org has none.
 */
export const reconnect = (
  tx: Tx,
  {org, dc, crmOrgId, apiDomain, crmUserId, crmUserName, scopes}: Omit<NewConnector, 'id' | 'name' | 'person' | 'kind' | 'document'>,
) =>
  tx.maybeOne(sql.type(z.object({id: z.string(), name: z.string()}))`
    update connectors set state = 'connected', crm_user_name = ${crmUserName}, scopes = ${sql.array(scopes, 'text')}
    where id = (
      select id from connectors
      where org_id = ${org} and dc = ${dc} and crm_org_id = ${crmOrgId} and api_domain = ${apiDomain} and crm_user_id = ${crmUserId}
      order by id desc limit 1 for update)
    returning id, name`)

/** Null for another org's connector and for no connector alike. */
export const findConnector = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} and id = ${id}`)

/** For the adapter, whose callers have already found the connector to be the org's own. */
export const readConnector = (db: Db, id: string) => db.maybeOne(sql.type(Connector)`select ${columns} from connectors where id = ${id}`)

/** What a connection of the kind `generic` is described by; null for the others. */
export const readDocument = (db: Db, id: string) =>
  db.oneFirst(sql.type(z.object({document: z.unknown()}))`select document from connectors where id = ${id}`)

/** Every connection of the org, ended and disconnected ones too, oldest first. */
export const listConnectors = (db: Db, org: string) =>
  db.any(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} order by id`)

/** The CRM no longer honours the grant: someone has to connect again. A connection someone disconnected stays so. */
export const endConnector = (db: Db, id: string) =>
  db.query(sql.type(z.object({}))`update connectors set state = 'ended' where id = ${id} and state = 'connected'`)

/** Held to the end of the transaction. Null for another org's connector and for no connector alike. */
export const lockConnector = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} and id = ${id} for no key update`)

export const setConnectorName = (tx: Tx, {id, name}: {id: string; name: string}) =>
  tx.one(sql.type(Connector)`update connectors set name = ${name} where id = ${id} returning ${columns}`)

/** Somebody ended it here; only consenting anew connects it again. */
export const disconnectConnector = (tx: Tx, id: string) =>
  tx.one(sql.type(Connector)`update connectors set state = 'disconnected' where id = ${id} returning ${columns}`)

/**
 * From the moment this is committed no batch is let out on the connection any more; what is under way is answered and settled. Runs that
 * lie down for it are woken by the sweep once it is lifted. Null for another org's connector and for no connector alike.
 */
export const setWritesPaused = (tx: Tx, {org, id, paused}: {org: string; id: string; paused: boolean}) =>
  tx.maybeOne(sql.type(Connector)`
    update connectors set writes_paused = ${paused} where org_id = ${org} and id = ${id} returning ${columns}`)

const Standing = z.enum(['open', 'paused', 'ended', 'disconnected'])
/** Whether a run may write through its connection. */
export type Standing = z.output<typeof Standing>

/** Of a run's connection, as the gate of T1 and the heartbeat ask it too. */
export const findStanding = (db: Db, run: number) =>
  db.oneFirst(sql.type(z.object({standing: Standing}))`select run_standing(${run}) as standing`)

/** Every connection of an org that is being erased, while the CRM may still honour it. */
export const listHonoured = (db: Db, org: string) =>
  db.any(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} and state = 'connected' order by id`)

/**
 * Connected connections of open orgs that nobody has found as they are for `hours`, those longest ago first; from here on they count as
 * looked at for `againHours`, so that one in trouble keeps no other waiting. One never discovered waits for somebody to ask.
 */
export const takeStaleConnectors = (tx: Tx, {hours, againHours, limit}: {hours: number; againHours: number; limit: number}) =>
  tx.any(sql.type(z.object({id: z.string(), org: z.string()}))`
    update connectors set refreshed_at = lading_now() where id in (
      select connectors.id from connectors join orgs on orgs.id = org_id and closed_at is null
      cross join lateral (select max(seen_at) as seen_at from discoveries where connector_id = connectors.id) newest
      where state = 'connected' and newest.seen_at < lading_now() - make_interval(secs => ${hours * 3600})
        and (refreshed_at is null or refreshed_at < lading_now() - make_interval(secs => ${againHours * 3600}))
      order by newest.seen_at limit ${limit} for update of connectors skip locked)
    returning id, org_id as org`)
