import type {Field} from './widget/imports/fields.ts'
import type {Mapping} from './widget/imports/import.ts'

/** Returns the mapping for an accepted proposal. A lookup is mapped by a search for the record name, any other field by the column. */
export const mapColumn = ({apiName, type}: Pick<Field, 'apiName' | 'type'>, column: string): Mapping => ({
  field: apiName,
  mode: type === 'lookup' ? 'search' : 'column',
  source: column,
  empty: 'leave',
})

type DefaultMapping = Partial<Mapping> & {skip?: boolean}

/**
 * Returns for each field its seed mapping or default mapping, if the mapping needs no column or the file has its column. A seed mapping of the module
 * precedes the default mapping in the annotation of the field. Leaves out excluded fields. A field that the org skips gets a mapping that skips it,
 * so that no proposal maps it. `seeds`: the seed mappings of the module.
 */
export const usualMappings = (
  fields: readonly Pick<Field, 'apiName' | 'annotation' | 'excluded'>[],
  columns: readonly string[],
  seeds: readonly DefaultMapping[],
): Mapping[] =>
  fields.flatMap(({apiName, annotation, excluded}): Mapping[] => {
    const defaults: DefaultMapping[] = [...seeds.filter(({field}) => field === apiName), annotation?.defaultMapping ?? {}]
    const fitting = defaults.find(({skip, mode, source}) => skip || (source ? columns.includes(source) : mode))
    const {source, mode = source && 'column', skip, ...rest} = fitting ?? {}
    if (skip || mode === 'skip') return [{field: apiName, mode: 'skip'}]
    if (excluded || !mode) return []
    return [{...rest, field: apiName, mode, ...(source && {source})}]
  })
