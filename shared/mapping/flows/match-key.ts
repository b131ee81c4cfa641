import {shortHash} from '../../security/short-hash.ts'
import {findOption} from './picklist.ts'
import type {FieldShape} from './value.ts'

const FOLDED = new Set(['text', 'email', 'picklist', 'website', 'textarea'])
const NUMBERS = new Set(['integer', 'bigint', 'long', 'double', 'percent', 'currency'])

/**
 * Converts a value to NFC, trims it and collapses inner blanks. Text is compared in lower case, numbers by value, phones by digits, date-times by
 * instant, picklist values by actual value. Null for an empty value, which matches nothing.
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
 * Returns the match key of a row or record: a one-way hash of 16 bytes. Keys are equal only for equal values of the same fields, so flows
 * that match by different fields never collide. Null if a value is empty.
 */
export const matchKeyOf = (values: unknown[], fields: (Pick<FieldShape, 'apiName' | 'type'> & Partial<FieldShape>)[]): Buffer | null => {
  const parts = fields.map((field, at) => [field.apiName, normalise(values[at], field)]).sort()
  if (parts.some(([, value]) => value === null)) return null
  return shortHash(JSON.stringify(parts))
}
