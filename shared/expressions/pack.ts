import {LIMITS} from './limits.ts'
import type {PreparedProgram} from './program.ts'
import type {Batch, ExpressionRow} from './sandbox.ts'

/**
 * `rows` is JSON. If `width` is above 0, `rows` has flat cells of the fields that are read, `width` per row. If `width` is 0, `rows` has whole rows
 * as objects, or nulls if no field is read. `split` returns one transfer for each row.
 */
export type PackedRows = {rows: string; width: number; numbers: readonly number[]; split: () => Iterable<PackedRows>}

/** Splits a batch into transfers. If a row cannot be transferred, yields the reason as text instead. */
export function* packRows(
  {program: {fields}}: PreparedProgram,
  {rows, numbers}: Pick<Batch, 'rows' | 'numbers'>,
): Iterable<PackedRows | string> {
  for (let from = 0; from < rows.length; from += LIMITS.crossingRows) {
    const part = rows.slice(from, from + LIMITS.crossingRows)
    yield* packPart(part, fields, numbers ? numbers.slice(from, from + part.length) : part.map((_, at) => from + at))
  }
}

function* packPart(part: readonly ExpressionRow[], fields: string[] | null, numbers: readonly number[]): Iterable<PackedRows | string> {
  const cells = fields && cellsOf(part, fields)
  const rows = JSON.stringify(fields?.length === 0 ? part.map(() => null) : (cells ?? part))
  const split = () => part.flatMap((row, at) => [...packPart([row], fields, [numbers[at]!])]) as PackedRows[]
  if (rows.length <= LIMITS.crossingChars || (part.length === 1 && rows.length <= LIMITS.rowChars))
    yield {rows, width: cells ? fields.length : 0, numbers, split}
  else if (part.length === 1) yield `The row has more than ${LIMITS.rowChars} characters. Shorten its cells`
  else {
    const half = part.length >> 1
    yield* packPart(part.slice(0, half), fields, numbers.slice(0, half))
    yield* packPart(part.slice(half), fields, numbers.slice(half))
  }
}

/** Returns null if a field is missing, or is not text, number, boolean or null. */
const cellsOf = (rows: readonly ExpressionRow[], fields: string[]) => {
  const cells = new Array<unknown>(rows.length * fields.length)
  let at = 0
  for (const row of rows)
    for (const field of fields) {
      const cell = row[field]
      if (typeof cell !== 'string' && typeof cell !== 'number' && typeof cell !== 'boolean' && cell !== null) return null
      if (!Object.hasOwn(row, field)) return null
      cells[at++] = cell
    }
  return cells
}
