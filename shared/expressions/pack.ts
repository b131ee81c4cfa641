import {LIMITS} from './limits.ts'
import type {PreparedProgram} from './program.ts'
import type {Batch, Row} from './sandbox.ts'

/** Rows as they cross: flat cells of the fields that are read (`width` of them a row), or whole rows as objects (`width` 0). */
export type Packed = {rows: string; width: number; numbers: readonly number[]; split: () => Iterable<Packed>}

/** Cuts a batch into crossings. A text instead of one says why its row cannot cross at all. */
export function* packRows(
  {program: {fields}}: PreparedProgram,
  {rows, numbers}: Pick<Batch, 'rows' | 'numbers'>,
): Iterable<Packed | string> {
  for (let from = 0; from < rows.length; from += LIMITS.crossingRows) {
    const part = rows.slice(from, from + LIMITS.crossingRows)
    yield* packPart(part, fields, numbers ? numbers.slice(from, from + part.length) : part.map((_, at) => from + at))
  }
}

function* packPart(part: readonly Row[], fields: string[] | null, numbers: readonly number[]): Iterable<Packed | string> {
  const cells = fields && cellsOf(part, fields)
  const rows = JSON.stringify(fields?.length === 0 ? part.map(() => null) : (cells ?? part))
  const split = () => part.flatMap((row, at) => [...packPart([row], fields, [numbers[at]!])]) as Packed[]
  if (rows.length <= LIMITS.crossingChars || (part.length === 1 && rows.length <= LIMITS.rowChars))
    yield {rows, width: cells ? fields.length : 0, numbers, split}
  else if (part.length === 1) yield `The row has more than ${LIMITS.rowChars} characters`
  else {
    const half = part.length >> 1
    yield* packPart(part.slice(0, half), fields, numbers.slice(0, half))
    yield* packPart(part.slice(half), fields, numbers.slice(half))
  }
}

/** Null where cells would not say what the row does: a field that is missing, or holds more than text, number, boolean or null. */
const cellsOf = (rows: readonly Row[], fields: string[]) => {
  const cells: unknown[] = []
  for (const row of rows)
    for (const field of fields) {
      const cell = row[field]
      if (typeof cell !== 'string' && typeof cell !== 'number' && typeof cell !== 'boolean' && cell !== null) return null
      if (!Object.hasOwn(row, field)) return null
      cells.push(cell)
    }
  return cells
}
