import type {Import} from '../../sql/imports.ts'
import type {Source} from '../../sql/sources.ts'

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

/** With its columns and what was seen in them. Members see their own org's samples as they are. */
export const describeSource = ({id, name, label, bytes, sha256, rows, reader, evidence, createdAt}: Source) => ({
  id,
  name,
  label,
  bytes,
  sha256,
  rows,
  reader,
  ...(evidence as object),
  createdAt,
})
