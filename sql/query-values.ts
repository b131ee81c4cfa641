import type pg from 'pg'
import {types} from 'pg'

/** The object id of the element type, by the object id of the array type. */
export type ArrayTypes = ReadonlyMap<number, number>
export type QueryCell = string | null

/**
 * Returns a converter from the text of Postgres to the text of a cell. Numbers keep every digit. Timestamps are in ISO 8601; those with a zone are in
 * UTC. Arrays become JSON. Needs `datestyle` ISO and `timezone` UTC.
 */
export const cellsOf = (fields: readonly pg.FieldDef[], arrays: ArrayTypes): ((row: readonly QueryCell[]) => QueryCell[]) => {
  const convert = fields.map(({dataTypeID}) => {
    const element = arrays.get(dataTypeID)
    return element === undefined ? (text: string) => cellOf(dataTypeID, text) : (text: string) => jsonOfArray(element, text)
  })
  return row => row.map((text, at) => (text === null ? null : convert[at]!(text)))
}

const {BOOL, TIMESTAMP, TIMESTAMPTZ, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, OID, JSON: JSON_TEXT, JSONB} = types.builtins
const numbers: ReadonlySet<number> = new Set([INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, OID])

/** `2026-11-28 16:05:00.25+00`. `infinity` and years before Christ stay as Postgres writes them. */
const moment = /^(\d{4,6}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,6})?)(\+00)?$/

const cellOf = (type: number, text: string): string => {
  if (type === BOOL) return text === 't' ? 'true' : 'false'
  if (type !== TIMESTAMP && type !== TIMESTAMPTZ) return text
  const [, day, time, zone] = moment.exec(text) ?? []
  return day === undefined ? text : `${day}T${time}${zone === undefined ? '' : 'Z'}`
}

type ParseArray = {create(text: string, transform: (element: string) => string): {parse(): JsonArray}}
type JsonArray = (string | null | JsonArray)[]

const jsonOfArray = (element: number, text: string): string => {
  // The types of pg describe another version of this function.
  const parser = types.arrayParser as unknown as ParseArray
  const write = (items: JsonArray): string => `[${items.map(item => (Array.isArray(item) ? write(item) : (item ?? 'null'))).join()}]`
  return write(parser.create(text, item => jsonOf(element, item)).parse())
}

const jsonOf = (type: number, text: string): string => {
  const isLiteral = type === BOOL || type === JSON_TEXT || type === JSONB || (numbers.has(type) && /\d$/.test(text))
  return isLiteral ? cellOf(type, text) : JSON.stringify(cellOf(type, text))
}
