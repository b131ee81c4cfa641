import {insertAuditEvent} from '../../../sql/audit-events.ts'
import type {Db} from '../../../sql/database.ts'
import type {Device} from '../../../sql/sessions.ts'

/** The actor of an audit event in an org: a caller of the API, with the device of the request. */
export type AuditActor = {
  org: string
  via: 'session' | 'token' | 'oauth'
  person: string
  session: string | null
  token: string | null
  device: Device
}

type AuditEvent = {kind: 'run.cancelled' | 'run.resumed' | 'audit.exported'; target?: string | null; detail?: Record<string, unknown>}

/** Records an audit event. For sessions, the SQL statements in `sql/sessions.ts` record the events instead. */
export const recordAuditEvent = async (db: Db, actor: AuditActor, {kind, target = null, detail = {}}: AuditEvent): Promise<void> => {
  const {org, via, person, session, token, device} = actor
  await insertAuditEvent(db, {org, kind, via, person, session, token, target, detail, ...device})
}
