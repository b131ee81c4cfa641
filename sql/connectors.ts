import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {Capabilities} from './doctor-reports.ts'

const Warning = z.object({code: z.enum(['noApiAccess', 'notAdmin', 'limitedView']), modules: z.array(z.string())})
export type ConnectorWarning = z.output<typeof Warning>
/** Unknown warnings are left out, because a newer build may store some during a rolling upgrade. */
const Warnings = z.array(z.unknown()).transform(warnings => warnings.flatMap(one => Warning.safeParse(one).data ?? []))

export const Connector = z.object({
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
  writesPaused: z.boolean(),
  warnings: Warnings,
  capabilities: Capabilities,
  createdAt: z.string(),
})
export type ConnectorRow = z.output<typeof Connector>

const columns = sql.fragment`id, org_id as org, name, kind, dc, state, crm_org_id as "crmOrgId", api_domain as "apiDomain",
  crm_user_id as "crmUserId", crm_user_name as "crmUserName", scopes, writes_paused as "writesPaused", warnings, capabilities, created_at as "createdAt"`

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
  kind?: string
  document?: object
}

/**
 * Inserts a connection. The caller makes the `id` by `newId('con')`, because this folder imports only packages. The caller stores the grant by
 * `keepGrant` in the same transaction.
 */
export const insertConnector = (tx: Tx, connector: NewConnector) =>
  tx.one(sql.type(z.object({id: z.string()}))`
    insert into connectors (id, org_id, name, dc, crm_org_id, api_domain, crm_user_id, crm_user_name, scopes, created_by, kind, document)
    values (${connector.id}, ${connector.org}, ${connector.name}, ${connector.dc}, ${connector.crmOrgId}, ${connector.apiDomain},
      ${connector.crmUserId}, ${connector.crmUserName}, ${sql.array(connector.scopes, 'text')}, ${connector.person},
      ${connector.kind ?? 'zoho'}, ${connector.document ? sql.jsonb(connector.document as never) : null})
    returning id`)

/**
 * Reconnects the org's newest connection of this CRM user, CRM org and API domain, under its old id, after the user consented again. Imports and
 * schedules that name the connection then work again. Returns null if the org has no such connection.
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

/** Returns null if the connection does not exist or belongs to another org. */
export const findConnector = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} and id = ${id}`)

/** Reads a connection without checking its org. Only for the adapter, whose callers have checked the org. */
export const readConnector = (db: Db, id: string) => db.maybeOne(sql.type(Connector)`select ${columns} from connectors where id = ${id}`)

/** Reads the document that describes a generic connection. Returns null for other kinds of connection. */
export const readDocument = (db: Db, id: string) =>
  db.oneFirst(sql.type(z.object({document: z.unknown()}))`select document from connectors where id = ${id}`)

export const listConnectors = (db: Db, org: string) =>
  db.any(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} order by id`)

/** Marks a connection as ended, because the CRM rejects its grant. A person must connect again. A disconnected connection stays disconnected. */
export const endConnector = (db: Db, id: string) =>
  db.query(sql.type(z.object({}))`update connectors set state = 'ended' where id = ${id} and state = 'connected'`)

/** Locks the connection's row until the transaction ends. Returns null if the connection does not exist or belongs to another org. */
export const lockConnector = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} and id = ${id} for no key update`)

export const setConnectorName = (tx: Tx, {id, name}: {id: string; name: string}) =>
  tx.one(sql.type(Connector)`update connectors set name = ${name} where id = ${id} returning ${columns}`)

/** Marks a connection as disconnected by a person. Only a new consent connects it again. */
export const disconnectConnector = (tx: Tx, id: string) =>
  tx.one(sql.type(Connector)`update connectors set state = 'disconnected' where id = ${id} returning ${columns}`)

/**
 * Pauses or resumes writes on a connection. After the commit no new batch is sent; batches in flight are answered and settled. When the
 * pause ends, the sweep resumes the paused runs. Returns null if the connection does not exist or belongs to another org.
 */
export const setWritesPaused = (tx: Tx, {org, id, paused}: {org: string; id: string; paused: boolean}) =>
  tx.maybeOne(sql.type(Connector)`
    update connectors set writes_paused = ${paused} where org_id = ${org} and id = ${id} returning ${columns}`)

export const setWarnings = (db: Db, {id, warnings}: {id: string; warnings: ConnectorWarning[]}) =>
  db.query(
    sql.type(z.object({}))`update connectors set warnings = ${sql.jsonb(warnings)} where id = ${id} and warnings <> ${sql.jsonb(warnings)}`,
  )

const WriteStatus = z.enum(['open', 'paused', 'ended', 'disconnected'])
export type WriteStatus = z.output<typeof WriteStatus>

/**
 * Returns the write status of a run's connection. It is `open` for a run without a connection, and for a dry run while writes are paused. The intent
 * statement and the heartbeat check the same status.
 */
export const findWriteStatus = (db: Db, run: number) =>
  db.oneFirst(sql.type(z.object({writeStatus: WriteStatus}))`select run_standing(${run}) as "writeStatus"`)

/** Lists the connections of an org being erased whose grants must still be revoked. */
export const listHonoured = (db: Db, org: string) =>
  db.any(sql.type(Connector)`select ${columns} from connectors where org_id = ${org} and state = 'connected' order by id`)

/**
 * Takes at most `limit` connected connections of open orgs whose last discovery is older than `hours`, oldest discovery first. Does not take the same
 * connection again for `againHours`, so that a failing connection does not block others. Leaves out connections without a discovery, because the
 * first discovery is made on request.
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
