import {sayName} from '../ui/labels.ts'
import {type Candidate, type Question, sayValue} from './answering.ts'

/**
 * A field of the row and of its candidates. `own`: the cell of the row, or null if no column fills the field. `isSame`: the candidates have
 * equal values, and none differs from the cell.
 */
export type ComparedField = {
  field: string
  label: string
  own: string | null
  values: {text: string; differs: boolean}[]
  isSame: boolean
}

const mostDifferent = 10
const mostSame = 3
/** Fields that differ in every record, or that the page shows in another way. */
const hidden = new Set(['id', 'Created_Time', 'Modified_Time', 'Last_Activity_Time'])
const numbers = new Set(['integer', 'bigint', 'long', 'double', 'percent', 'currency'])
const texts = new Set(['text', 'textarea', 'email', 'phone', 'website', 'picklist'])

/**
 * Compares candidates with one another and with the cells of the row, by field. Up to 10 fields with different values come first, then up to 3
 * equal ones. Only numbers and texts are compared with the cell, because dates and links can be written in many ways.
 */
export const compareCandidates = ({candidates, fields = []}: Question, own: ReadonlyMap<string, string>): ComparedField[] => {
  const typeOf = new Map(fields.map(({apiName, type}) => [apiName, type]))
  const labelOf = new Map(fields.map(({apiName, label}) => [apiName, label]))
  const names = [...new Set([...own.keys(), ...candidates.flatMap(candidate => Object.keys(candidate))])]
  const compared = names
    .filter(name => !hidden.has(name) && !name.startsWith('$'))
    .map(field => compareField(field, {candidates, cell: own.get(field) ?? null, type: typeOf.get(field), label: labelOf.get(field)}))
    .filter(({own: cell, values}) => cell || values.some(({text}) => text !== ''))
  return [
    ...compared
      .filter(({isSame}) => !isSame)
      .toSorted((a, b) => Number(b.own !== null) - Number(a.own !== null))
      .slice(0, mostDifferent),
    ...compared.filter(({isSame}) => isSame).slice(0, mostSame),
  ]
}

type FieldInput = {candidates: Candidate[]; cell: string | null; type: string | undefined; label: string | undefined}

const compareField = (field: string, {candidates, cell, type = '', label}: FieldInput): ComparedField => {
  const texts = candidates.map(candidate => sayValue(candidate[field]))
  const values = texts.map(text => ({text, differs: cell !== null && isOther(cell, text, type)}))
  const isSame = new Set(texts).size <= 1 && !values.some(({differs}) => differs)
  return {field, label: label ?? sayName(field), own: cell, values, isSame}
}

const plain = (text: string) => text.trim().toLowerCase()

const isOther = (cell: string, text: string, type: string): boolean => {
  if (numbers.has(type)) return Number(cell) !== Number(text)
  return texts.has(type) && plain(cell) !== plain(text)
}
