import type {Import} from '../../sql/imports.ts'
import type {Source} from '../../sql/sources.ts'
import {describeSource} from '../sources/describe.ts'

export const describeImport = ({id, name, connectorId, state, flows, version, createdAt}: Import, sources?: readonly Source[]) => ({
  id,
  name,
  connectorId,
  state,
  version,
  createdAt,
  flows,
  ...(sources && {sources: sources.map(describeSource)}),
})
