import type {DiscoveredField} from '../discovered.ts'

export type BulkColumn = {apiName: string; kind: 'text' | 'number' | 'boolean' | 'date' | 'list' | 'link' | 'id'}

const kinds: Record<string, BulkColumn['kind']> = {
  ...Object.fromEntries(['text', 'textarea', 'website', 'phone', 'email', 'picklist', 'bigint'].map(type => [type, 'text'])),
  ...Object.fromEntries(['integer', 'double', 'percent', 'currency'].map(type => [type, 'number'])),
  ...Object.fromEntries(['lookup', 'ownerlookup', 'userlookup'].map(type => [type, 'link'])),
  boolean: 'boolean',
  date: 'date',
  multiselectpicklist: 'list',
}

export const idColumn: BulkColumn = {apiName: 'id', kind: 'id'}

/**
 * Returns the bulk column of a field, or null if bulk writes cannot fill the field. Date-times have no column, because the file has local times of
 * the user's zone, in which one hour of each year is ambiguous.
 */
export const findBulkColumn = ({apiName, type}: Pick<DiscoveredField, 'apiName' | 'type'>): BulkColumn | null => {
  const kind = kinds[type]
  return kind === undefined ? null : {apiName, kind}
}

/**
 * Formats a value as a cell. Null becomes an empty cell, which clears the field in an update. Returns null if the file cannot contain the value; the
 * caller must then write the record by another call.
 */
export const writeBulkCell = ({kind}: BulkColumn, value: unknown): string | null => {
  if (value === null || value === undefined) return ''
  switch (kind) {
    case 'text':
      return typeof value === 'string' && value !== '' ? value : null
    case 'number':
      return typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(String(value)) ? String(value) : null
    case 'boolean':
      return typeof value === 'boolean' ? String(value) : null
    case 'date':
      return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? value : null
    case 'list':
      return isList(value) ? value.join(';') : null
    default:
      return idIn(value)
  }
}

/** Returns the column's entry in `field_mappings`. The date pattern is set, because the CRM's default has the month first. */
export const mapBulkColumn = ({apiName, kind}: BulkColumn, index: number) => ({
  api_name: apiName,
  index,
  ...(kind === 'date' && {format: 'yyyy-MM-dd'}),
  ...(kind === 'link' && {find_by: 'id'}),
})

const isList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(one => typeof one === 'string' && one !== '' && !one.includes(';'))

const idIn = (value: unknown): string | null => {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : value
  return typeof id === 'string' && /^\d{1,20}$/.test(id) ? id : null
}
