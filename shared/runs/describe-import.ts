import type {Import} from '../../sql/imports.ts'
import type {Source} from '../../sql/sources.ts'
import {describeSource} from '../sources/describe.ts'

export const describeImport = (
  {id, name, connectorId, state, flows, version, templateId, templateVersion, slots, createdBy, createdAt, expiredAt}: Import,
  sources?: readonly Source[],
) => ({
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
  ...(sources && {slots, sources: sources.map(describeSource)}),
})
