import {z} from 'zod'

const Cell = z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()]).transform(cell => (cell === null ? '' : String(cell)))

/** Rows of a file as a client has them. A file's cells are texts, so whatever comes is one. */
export const SampleRows = z
  .array(z.record(z.string().min(1).max(500), Cell).refine(row => Object.keys(row).length <= 500, 'At most 500 columns'))
  .max(20)
  .refine(rows => JSON.stringify(rows).length <= 600_000, 'At most 600000 characters together: send fewer rows')

/** Each row with every column there is, as a file has them. */
export const fillRows = (columns: readonly string[], rows: readonly Record<string, string>[]): Record<string, string>[] =>
  rows.map(row => Object.fromEntries(columns.map(name => [name, (Object.hasOwn(row, name) && row[name]) || ''])))

export const columnsOf = (rows: readonly Record<string, string>[]): string[] => [...new Set(rows.flatMap(row => Object.keys(row)))]

/** Column by column, without the empty cells. */
export const sampledOf = (columns: readonly string[], filled: readonly Record<string, string>[]) =>
  columns.map(name => ({name, samples: filled.map(row => row[name]!).filter(text => text.trim() !== '')}))
