import {Refusal} from '../../errors.ts'
import type {JsonRecord} from './json-records.ts'

/** The maximum depth of nested objects that become columns. */
const mostDepth = 20

/** The source text of a number, because a parsed number such as 12345678901234567890 or 1.10 would lose characters. */
class NumberText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toJSON() {
    return this.text
  }
}

const asText = (_: string, value: unknown, {source = ''}: {source?: string}) => (typeof value === 'number' ? new NumberText(source) : value)

/**
 * A nested object becomes columns with dotted names. A list becomes JSON text with numbers as strings, a form that fields with several values accept.
 * `null` becomes an empty cell. In a column of `commas`, whose strings have a decimal comma, numbers get one too.
 */
export const flattenRecord = ({number, text}: JsonRecord, commas: ReadonlySet<string> = new Set()): Map<string, string> => {
  const cells = new Map<string, string>()
  addObject({cells, commas}, {number, path: '', depth: 1}, parse({number, text}))
  return cells
}

const parse = ({number, text}: JsonRecord): Record<string, unknown> => {
  try {
    return JSON.parse(text, asText as never)
  } catch (error) {
    // The parser throws RangeError if the nesting exceeds its stack.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error
    throw new Refusal(
      'UNREADABLE',
      `Record ${number} of the JSON file is not valid JSON, or is nested too deeply. Correct it and send the file again`,
    )
  }
}

type CellPlace = {number: number; path: string; depth: number}

type FlatRecord = {cells: Map<string, string>; commas: ReadonlySet<string>}

const addObject = (flat: FlatRecord, {number, path, depth}: CellPlace, object: Record<string, unknown>): void => {
  if (depth > mostDepth)
    throw new Refusal('UNREADABLE', `Record ${number} of the JSON file has objects nested more than ${mostDepth} levels deep`)
  for (const [key, value] of Object.entries(object)) {
    const name = path === '' ? key : `${path}.${key}`
    if (isObject(value)) addObject(flat, {number, path: name, depth: depth + 1}, value)
    else addCell(flat.cells, number, name, textOf(value, flat.commas.has(name)))
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText)

const textOf = (value: unknown, hasComma: boolean): string => {
  if (value === null) return ''
  if (value instanceof NumberText) return hasComma && !/e/i.test(value.text) ? value.text.replace('.', ',') : value.text
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const addCell = (cells: Map<string, string>, number: number, name: string, cell: string): void => {
  if (cells.has(name)) throw new Refusal('UNREADABLE', `Record ${number} of the JSON file has two values for the column "${name}"`)
  cells.set(name, cell)
}
