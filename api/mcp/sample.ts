import {z} from 'zod'

const Cell = z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()]).transform(cell => (cell === null ? '' : String(cell)))

/** Sample rows from a client. All cells of a file are text, so other values are converted to text. */
export const SampleRows = z
  .array(
    z
      .record(z.string().min(1).max(500), Cell)
      .refine(row => Object.keys(row).length <= 500, 'The row has more than 500 columns. Send fewer'),
  )
  .max(20)
  .refine(rows => JSON.stringify(rows).length <= 600_000, 'The rows have more than 600000 characters. Send fewer rows')

/** Adds the missing cells, so that every row has every column. */
export const fillRows = (columns: readonly string[], rows: readonly Record<string, string>[]): Record<string, string>[] =>
  rows.map(row => Object.fromEntries(columns.map(name => [name, (Object.hasOwn(row, name) && row[name]) || ''])))

export const columnsOf = (rows: readonly Record<string, string>[]): string[] => [...new Set(rows.flatMap(row => Object.keys(row)))]

export const sampledOf = (columns: readonly string[], filled: readonly Record<string, string>[]) =>
  columns.map(name => ({name, samples: filled.map(row => row[name]!).filter(text => text.trim() !== '')}))
