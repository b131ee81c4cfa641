import {createHash} from 'node:crypto'
import type {Db} from '../../../sql/database.ts'
import {listCuratedModules} from '../../../sql/registry.ts'
import {readSamplePolicy} from '../sample-masking.ts'

/** Returns a digest of the org's settings that decide what a model may see: the sample policy and the fields annotated as personal. */
export const readContextHash = async (db: Db, org: string): Promise<string> => {
  const policy = await readSamplePolicy(db, org)
  const personal = (await listCuratedModules(db, org)).flatMap(({connectorId, apiName, annotations}) =>
    (annotations as {apiName: string; pii?: boolean}[]).flatMap(one => (one.pii === true ? [[connectorId, apiName, one.apiName]] : [])),
  )
  const content = JSON.stringify([policy, personal.map(field => JSON.stringify(field)).toSorted()])
  return createHash('sha256').update(content).digest('base64url').slice(0, 22)
}
