import {createHash} from 'node:crypto'
import type {Db} from '../../sql/database.ts'
import {listCuratedModules} from '../../sql/registry.ts'
import {readSamplePolicy} from '../ai/outgoing.ts'

/** A digest of all an org says that decides what of its files may leave: the policy, and which fields are personal. */
export const readGround = async (db: Db, org: string): Promise<string> => {
  const policy = await readSamplePolicy(db, org)
  const personal = (await listCuratedModules(db, org)).flatMap(({connectorId, apiName, annotations}) =>
    (annotations as {apiName: string; pii?: boolean}[]).flatMap(one => (one.pii === true ? [[connectorId, apiName, one.apiName]] : [])),
  )
  const said = JSON.stringify([policy, personal.map(field => JSON.stringify(field)).toSorted()])
  return createHash('sha256').update(said).digest('base64url').slice(0, 22)
}
