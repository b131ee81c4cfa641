import type {Import} from '../../sql/imports.ts'
import type {Source} from '../../sql/sources.ts'
import type {Parsing} from '../parsing/pool.ts'
import {describeSource} from '../sources/describe.ts'

export const describeImport = ({
  id,
  name,
  connectorId,
  state,
  flows,
  version,
  templateId,
  templateVersion,
  createdBy,
  createdAt,
  expiredAt,
}: Import) => ({
  id,
  name,
  connectorId,
  state,
  version,
  templateId,
  templateVersion,
  createdBy,
  createdAt,
  expiredAt,
  flows,
})

type Whole = {org: string; found: Import; sources: readonly Source[]}

/** As JSON, with the slots of its template and its sources. */
export const describeWhole = async (parsing: Parsing, {org, found, sources}: Whole): Promise<string> => {
  const head = JSON.stringify({...describeImport(found), slots: found.slots})
  const described: string[] = []
  for (const source of sources) described.push(await describeSource(parsing, org, source))
  return `${head.slice(0, -1)},"sources":[${described.join()}]}`
}
