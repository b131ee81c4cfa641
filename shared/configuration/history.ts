import {listChanges} from '../../sql/changes.ts'
import {listConnectors} from '../../sql/connectors.ts'
import type {Db} from '../../sql/database.ts'
import {Refusal} from '../errors.ts'
import {readCursor, writeCursor} from '../security/cursor.ts'
import type {KeyRing} from '../security/secrets.ts'
import {assertOwn} from './name.ts'
import {OWN_PAGES, type Page} from './pages.ts'

type HistoryInput = {
  org: string
  connector?: string | undefined
  pages?: readonly Page[] | undefined
  limit: number
  cursor?: string | undefined
}

/**
 * Returns a page of the org's settings history, newest first. Changes on pages that exist per connection (`OWN_PAGES`) are listed only if their
 * connection is named. If only such pages are requested without a connection, throws CONNECTION_REQUIRED.
 */
export const readHistory = async (db: Db, ring: KeyRing, {org, connector, pages, limit, cursor}: HistoryInput) => {
  const connections = await listConnectors(db, org)
  if (connector !== undefined) assertOwn(connections, connector)
  else if (pages?.every(page => (OWN_PAGES as readonly string[]).includes(page)))
    throw new Refusal('CONNECTION_REQUIRED', 'Each connection has its own such pages. Name the connection with ?connector=', {
      connections: connections.map(({id, name, state}) => ({id, name, state})),
    })
  const list = `changes ${org}`
  const place = readCursor(ring, list, cursor)
  const [createdAt, id] = place === null ? [] : String(place).split(' ')
  const before = createdAt && id ? {createdAt, id} : null
  const rows = await listChanges(db, {org, pages: pages ?? null, own: OWN_PAGES, connector: connector ?? null, before, limit: limit + 1})
  const changes = rows.slice(0, limit)
  const last = rows.length > limit ? changes.at(-1)! : null
  return {changes, nextCursor: last && writeCursor(ring, list, `${last.createdAt} ${last.id}`)}
}
