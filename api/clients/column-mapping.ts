import type {Field} from './widget/imports/fields.ts'
import type {Mapping} from './widget/imports/import.ts'

/** Returns the mapping for an accepted proposal. A lookup is mapped by a search for the record name, any other field by the column. */
export const mapColumn = ({apiName, type}: Pick<Field, 'apiName' | 'type'>, column: string): Mapping => ({
  field: apiName,
  mode: type === 'lookup' ? 'search' : 'column',
  source: column,
  empty: 'leave',
})

/** Returns the org's default mappings whose columns exist in the file, and those that need no column. */
export const usualMappings = (fields: readonly Pick<Field, 'apiName' | 'annotation'>[], columns: readonly string[]): Mapping[] =>
  fields.flatMap(({apiName, annotation}) => {
    const {mode, source, ...rest} = annotation?.defaultMapping ?? {}
    if (!mode || (source && !columns.includes(source))) return []
    const {skip: _, ...told} = rest as Partial<Mapping> & {skip?: boolean}
    return [{...told, field: apiName, mode, ...(source && {source})}]
  })
