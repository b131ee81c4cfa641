import {Readable} from 'node:stream'
import {type AuditPage, listAuditEntries} from '../../../sql/audit-export.ts'
import {readClock} from '../../../sql/clock.ts'
import type {Pool} from '../../../sql/database.ts'
import {type AuditActor, recordAuditEvent} from './event.ts'

type Range = {from?: string | undefined; to?: string | undefined}

const entriesPerPage = 1000

/**
 * Returns the audit entries of the actor's org as NDJSON, oldest first. Before it reads, the export records itself as an audit event, which
 * later exports contain.
 */
export const exportAudit = async (db: Pool, actor: AuditActor, {from, to}: Range): Promise<Readable> => {
  const until = to ?? (await readClock(db))
  await recordAuditEvent(db, actor, {kind: 'audit.exported', detail: {from: from ?? null, to: until}})
  return Readable.from(linesOf(db, {org: actor.org, from: from ?? null, to: until, limit: entriesPerPage}), {objectMode: false})
}

async function* linesOf(db: Pool, range: Omit<AuditPage, 'after'>): AsyncGenerator<string> {
  for (let after: AuditPage['after'] = null; ; ) {
    const entries = await listAuditEntries(db, {...range, after})
    if (entries.length > 0) yield entries.map(({place: _, ...entry}) => `${JSON.stringify(entry)}\n`).join('')
    const last = entries.at(-1)
    if (!last || entries.length < range.limit) return
    after = {place: last.place, id: last.id}
  }
}
