import {createHash} from 'node:crypto'
import type {FieldShape} from './value.ts'

const FOLDED = new Set(['text', 'email', 'picklist', 'website', 'textarea'])
const NUMBERS = new Set(['integer', 'bigint', 'long', 'double', 'percent', 'currency'])

/**
 * One value as matching sees it: NFC, trimmed, inner blanks collapsed; case folded for text; numbers by value; phones by
 * their digits. Null for what is empty: an empty part matches nothing.
 */
export const normalise = (value: unknown, {type}: Pick<FieldShape, 'type'>): string | null => {
  if (value === null || value === undefined) return null
  const text = String(typeof value === 'object' && 'id' in value ? value.id : value)
    .normalize('NFC')
    .trim()
    .replace(/\s+/g, ' ')
  if (text === '') return null
  if (NUMBERS.has(type))
    return Number.isSafeInteger(Number(text)) || !/^[+-]?\d+$/.test(text) ? String(Number(text)) : text.replace(/^\+/, '')
  if (type === 'phone') return text.replace(/(?!^\+)\D/g, '') || null
  return FOLDED.has(type) ? text.toLowerCase() : text
}

/** The whole key of a row or record as 16 bytes, equal only for equal keys; null when a part is empty. No value can be read back from it. */
export const matchKeyOf = (values: unknown[], fields: Pick<FieldShape, 'type'>[]): Buffer | null => {
  const parts = values.map((value, at) => normalise(value, fields[at]!))
  if (parts.includes(null)) return null
  return createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 16)
}
