import {findConnector, listConnectors} from '../../sql/connectors.ts'
import type {Db} from '../../sql/database.ts'
import {Refusal} from '../errors.ts'

/** Without an id, returns the org's only connection, or the only connected one. Throws Refusal if no connection, or more than one, qualifies. */
export const chooseConnector = async (db: Db, {org, id}: {org: string; id: string | undefined}) => {
  if (id !== undefined) {
    const named = await findConnector(db, {org, id})
    if (!named) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
    return named
  }
  const all = await listConnectors(db, org)
  const connected = all.filter(({state}) => state === 'connected')
  const [only] = all.length === 1 ? all : connected.length === 1 ? connected : []
  if (only) return only
  const message =
    all.length === 0 ? 'This org has no connection to a CRM. Connect a CRM first' : 'This org has several connections. Choose one of them'
  throw new Refusal('CONNECTION_REQUIRED', message, {connections: all.map(({id, name, state}) => ({id, name, state}))})
}

export const findOwn = async (db: Db, {org, id}: {org: string; id: string}) => {
  const connector = await findConnector(db, {org, id})
  if (!connector) throw new Refusal('NOT_FOUND', 'No such connection')
  return connector
}
