import type {Import} from '../../sql/imports.ts'
import type {Source} from '../../sql/sources.ts'
import type {Parsing} from '../files/parser/pool.ts'
import {describeSource} from '../files/sources/describe.ts'

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
  archivedAt,
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
  archivedAt,
  flows,
})

type DescribeImportInput = {org: string; found: Import; sources: readonly Source[]}

/** Returns the import with its template slots and its sources, as JSON text. */
export const describeWhole = async (parsing: Parsing, {org, found, sources}: DescribeImportInput): Promise<string> => {
  const head = JSON.stringify({...describeImport(found), slots: found.slots})
  const described: string[] = []
  for (const source of sources) described.push(await describeSource(parsing, org, source))
  return `${head.slice(0, -1)},"sources":[${described.join()}]}`
}
