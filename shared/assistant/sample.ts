import {z} from 'zod'
import {findRepeated, listOf} from '../configuration/annotation.ts'

const mostSampleRows = 20
const mostColumns = 500
const mostCellCharacters = 10_000
/** Maximum number of characters in all cells together. */
const mostCharacters = 500_000

const Row = z.array(z.string().max(mostCellCharacters).nullable()).max(mostColumns)

/** Sample rows of a file, as `GET …/sources/{id}/rows` returns them: one cell per column, null for an empty one. */
export const sampleShape = {
  columns: listOf(z.string().min(1).max(500), {most: mostColumns, least: 1}).describe('Names of the file’s columns'),
  rows: listOf(Row, {most: mostSampleRows})
    .default([])
    .describe(`Sample rows: one cell per column, null for an empty one. At most ${mostCharacters} characters together`),
}

type Sample = {columns: string[]; rows: (string | null)[][]}

/** Checks the properties of a sample that its schema cannot express. */
export const assertSample = ({columns, rows}: Sample, context: z.RefinementCtx): void => {
  for (const at of findRepeated(columns)) context.addIssue({code: 'custom', path: ['columns', at], message: 'Another column has this name'})
  for (const [at, row] of rows.entries())
    if (row.length > columns.length)
      context.addIssue({code: 'custom', path: ['rows', at], message: 'This row has more cells than there are columns'})
  const characters = rows.reduce((sum, row) => sum + row.reduce((cells, cell) => cells + (cell?.length ?? 0), 0), 0)
  if (characters > mostCharacters)
    context.addIssue({
      code: 'custom',
      path: ['rows'],
      message: `The cells have more than ${mostCharacters} characters together. Send fewer rows`,
    })
}

export const samplesOf = ({columns, rows}: Sample): {name: string; samples: string[]}[] =>
  columns.map((name, at) => ({name, samples: rows.map(row => row[at] ?? '').filter(text => text.trim() !== '')}))

export const recordsOf = ({columns, rows}: Sample): Record<string, string>[] =>
  rows.map(row => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? ''])))
