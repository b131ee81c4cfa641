import {type Accepted, type LocalProposal, type MatchColumn, type MatchField, proposeMapping} from './propose.ts'

export type MapRequest = {columns: readonly MatchColumn[]; fields: readonly MatchField[]; accepted: readonly Accepted[]}

/**
 * Maximum number of column-field pairs per slice; a slice of ten columns may have more. The time of an assignment grows faster than the number
 * of pairs.
 */
const mostPairs = 15_000

/** Maps a wide file in slices of columns. A field that an earlier slice uses is read-only in later ones. */
export const mapInSlices = ({columns, fields, accepted}: MapRequest): LocalProposal[] => {
  const size = Math.max(10, Math.floor(mostPairs / Math.max(1, fields.length)))
  const proposals: LocalProposal[] = []
  const taken = new Set<string>()
  for (let from = 0; from < columns.length; from += size) {
    const free = fields.map(field => (taken.has(`${field.module}.${field.apiName}`) ? {...field, readOnly: true} : field))
    const some = proposeMapping({columns: columns.slice(from, from + size), fields: free, accepted})
    for (const {module, field} of some) if (field !== null) taken.add(`${module}.${field}`)
    proposals.push(...some)
  }
  return proposals
}
