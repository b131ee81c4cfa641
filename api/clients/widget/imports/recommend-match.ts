import {listMatchFields} from '../../match-field.ts'
import type {Field} from './fields.ts'
import type {Flow, Mapping, Source} from './import.ts'
import {entriesOf} from './value-entries.ts'

/**
 * Returns the best match field that a column fills, or null. Fields that no row leaves empty come first. Among equals, unique fields come before
 * the field by which the CRM finds duplicates.
 */
export const recommendMatch = (flow: Flow, source: Pick<Source, 'columns'> | undefined, fields: readonly Field[]): Field | null => {
  const isFromColumn = (name: string) => flow.fields.some(({field, mode}) => field === name && mode === 'column')
  const fitting = listMatchFields(flow, fields).filter(({apiName}) => isFromColumn(apiName))
  const rank = ({apiName}: Field) => (isAlwaysFilled(flow, source, apiName) ? 0 : 1)
  return fitting.toSorted((one, other) => rank(one) - rank(other))[0] ?? null
}

/**
 * Whether each row has a value for the field. Expressions and some value maps may return an empty value, so the result for these mappings is false.
 */
export const isAlwaysFilled = ({fields}: Flow, source: Pick<Source, 'columns'> | undefined, name: string): boolean => {
  const mapping = fields.find(({field}) => field === name)
  if (mapping?.mode === 'static') return !isEmptying(mapping.staticValue ?? '')
  if (mapping?.mode !== 'column' || mapping.transform || mapEmpties(mapping)) return false
  return source?.columns.find(one => one.name === mapping.source)?.empties === 0
}

const mapEmpties = (mapping: Mapping): boolean => {
  const entries = entriesOf(mapping)
  return entries !== null && (mapping.otherwise === 'empty' || entries.some(({to}) => isEmptying(to)))
}

/** Whether a value leaves a field empty: it is blank, or the token that clears a field. */
const isEmptying = (value: string): boolean => ['', '\\N'].includes(value.trim())
