import {Refusal} from '../../errors.ts'
import type {JsonRecord} from './json-records.ts'

/** The maximum depth of nested objects that become columns. */
const mostDepth = 20

/** Returns the source text of numbers, because a parsed number such as 12345678901234567890 or 1.10 would lose characters. */
const asText = (_: string, value: unknown, {source}: {source?: string}) => (typeof value === 'number' ? source : value)

/**
 * A nested object becomes columns with dotted names. A list becomes JSON text with numbers as strings, a form that fields with several values accept.
 * `null` becomes an empty cell.
 */
export const flattenRecord = ({number, text}: JsonRecord): Map<string, string> => {
  const cells = new Map<string, string>()
  addObject(cells, {number, path: '', depth: 1}, parse({number, text}))
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

const addObject = (cells: Map<string, string>, {number, path, depth}: CellPlace, object: Record<string, unknown>): void => {
  if (depth > mostDepth)
    throw new Refusal('UNREADABLE', `Record ${number} of the JSON file has objects nested more than ${mostDepth} levels deep`)
  for (const [key, value] of Object.entries(object)) {
    const name = path === '' ? key : `${path}.${key}`
    if (isObject(value)) addObject(cells, {number, path: name, depth: depth + 1}, value)
    else addCell(cells, number, name, textOf(value))
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string => {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const addCell = (cells: Map<string, string>, number: number, name: string, cell: string): void => {
  if (cells.has(name)) throw new Refusal('UNREADABLE', `Record ${number} of the JSON file has two values for the column "${name}"`)
  cells.set(name, cell)
}
