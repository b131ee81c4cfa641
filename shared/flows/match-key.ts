import {shortHash} from '../short-hash.ts'
import {findOption} from './picklist.ts'
import type {FieldShape} from './value.ts'

const FOLDED = new Set(['text', 'email', 'picklist', 'website', 'textarea'])
const NUMBERS = new Set(['integer', 'bigint', 'long', 'double', 'percent', 'currency'])

/**
 * One value as matching sees it: NFC, trimmed, inner blanks collapsed; case folded for text; numbers by value; phones by
 * their digits; moments whatever their offset; an option by its actual value, whichever of its two values stands there. Null for what is
 * empty: an empty part matches nothing.
 */
export const normalise = (value: unknown, {type, picklist = []}: Pick<FieldShape, 'type'> & Partial<FieldShape>): string | null => {
  if (value === null || value === undefined) return null
  const text = String(typeof value === 'object' && 'id' in value ? value.id : value)
    .normalize('NFC')
    .trim()
    .replace(/\s+/g, ' ')
  if (text === '') return null
  if (NUMBERS.has(type))
    return Number.isSafeInteger(Number(text)) || !/^[+-]?\d+$/.test(text) ? String(Number(text)) : text.replace(/^\+/, '')
  if (type === 'datetime') return Number.isNaN(Date.parse(text)) ? text : new Date(text).toISOString()
  if (type === 'phone') return text.replace(/(?!^\+)\D/g, '') || null
  if (type === 'picklist') return (findOption(text, {picklist})?.actual ?? text).toLowerCase()
  return FOLDED.has(type) ? text.toLowerCase() : text
}

/**
 * The whole key of a row or record as 16 bytes, equal only for equal values of the same fields: flows that match one module by
 * different fields never meet. Null when a part is empty. No value can be read back from it.
 */
export const matchKeyOf = (values: unknown[], fields: (Pick<FieldShape, 'apiName' | 'type'> & Partial<FieldShape>)[]): Buffer | null => {
  const parts = fields.map((field, at) => [field.apiName, normalise(values[at], field)]).sort()
  if (parts.some(([, value]) => value === null)) return null
  return shortHash(JSON.stringify(parts))
}
