import {insertAuditEvent} from '../../sql/audit-events.ts'
import type {Db} from '../../sql/database.ts'
import type {Device} from '../../sql/sessions.ts'

/** Who acts in an org, and from where. A caller of the API is one, with the device of the request. */
export type AuditActor = {
  org: string
  via: 'session' | 'token' | 'oauth'
  person: string
  session: string | null
  token: string | null
  device: Device
}

type AuditEvent = {kind: 'run.cancelled' | 'audit.exported'; target?: string | null; detail?: Record<string, unknown>}

/** Events of sessions are written by the statements that change sessions; see `sql/sessions.ts`. */
export const recordAuditEvent = async (db: Db, actor: AuditActor, {kind, target = null, detail = {}}: AuditEvent): Promise<void> => {
  const {org, via, person, session, token, device} = actor
  await insertAuditEvent(db, {org, kind, via, person, session, token, target, detail, ...device})
}
