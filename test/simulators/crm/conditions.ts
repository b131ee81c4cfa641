import type {Field} from './fields.ts'
import type {Rec} from './store.ts'
import {parseInstant} from './zones.ts'

export type Predicate = (rec: Rec) => boolean
export type Comparable = string | number | boolean | null

/** The way in which values of a field are compared. */
export type LiteralFamily = 'text' | 'number' | 'instant' | 'date' | 'boolean' | 'id' | 'list' | 'none'

export const familyOf = (field: Field): LiteralFamily => {
  switch (field.type) {
    case 'integer':
    case 'double':
    case 'percent':
    case 'currency':
      return 'number'
    case 'formula':
      return field.spec.formula && 'multiply' in field.spec.formula ? 'number' : 'text'
    case 'datetime':
      return 'instant'
    case 'date':
      return 'date'
    case 'boolean':
      return 'boolean'
    case 'lookup':
    case 'ownerlookup':
    case 'userlookup':
      return 'id'
    case 'multiselectpicklist':
      return 'list'
    case 'subform':
    case 'multiselectlookup':
    case 'tag':
      return 'none'
    default:
      return 'text'
  }
}

/** Returns a literal as values of the family are stored, or undefined if it is not a value of the family. */
export const literalFor = (family: LiteralFamily, value: string | number | boolean): Comparable | undefined => {
  switch (family) {
    case 'number': {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      return typeof number === 'number' && Number.isFinite(number) ? number : undefined
    }
    case 'instant':
      return typeof value === 'string' ? (parseInstant(value) ?? dayStart(value)) : undefined
    case 'date':
      return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}/.test(value) ? value.slice(0, 10) : undefined
    case 'boolean':
      return typeof value === 'boolean' ? value : value === 'true' ? true : value === 'false' ? false : undefined
    case 'id':
      return /^\d{1,19}$/.test(String(value)) ? String(value) : undefined
    case 'none':
      return undefined
    default:
      return String(value)
  }
}

/** Compares two values of one family; texts ignore case if `fold` is set. */
export const compare = (one: unknown, other: unknown, fold: boolean): number => {
  if (typeof one === 'string' && typeof other === 'string') {
    const [left, right] = fold ? [one.toLowerCase(), other.toLowerCase()] : [one, other]
    return left < right ? -1 : left > right ? 1 : 0
  }
  const [left, right] = [Number(one), Number(other)]
  return left < right ? -1 : left > right ? 1 : 0
}

export const isEmpty = (value: unknown) => value === null || value === undefined || (Array.isArray(value) && value.length === 0)

const dayStart = (text: string) => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : undefined)
