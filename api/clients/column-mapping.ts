import type {Field} from './widget/imports/fields.ts'
import type {Mapping} from './widget/imports/import.ts'

/** Returns the mapping for an accepted proposal. A lookup is mapped by a search for the record name, any other field by the column. */
export const mapColumn = ({apiName, type}: Pick<Field, 'apiName' | 'type'>, column: string): Mapping => ({
  field: apiName,
  mode: type === 'lookup' ? 'search' : 'column',
  source: column,
  empty: 'leave',
})

/**
 * Returns the org's default mappings whose columns exist in the file, and those that need no column. Leaves out excluded fields. A field that the org
 * skips gets a mapping that skips it, so that no proposal maps it.
 */
export const usualMappings = (
  fields: readonly Pick<Field, 'apiName' | 'annotation' | 'excluded'>[],
  columns: readonly string[],
): Mapping[] =>
  fields.flatMap(({apiName, annotation, excluded}): Mapping[] => {
    const {mode, source, skip, ...rest}: Partial<Mapping> & {skip?: boolean} = annotation?.defaultMapping ?? {}
    if (skip) return [{field: apiName, mode: 'skip'}]
    if (excluded || !mode || (source && !columns.includes(source))) return []
    return [{...rest, field: apiName, mode, ...(source && {source})}]
  })
