import {z} from 'zod'
import {findEncoding} from './encoding.ts'

const isEncoding = (label: string) => findEncoding(label) !== null

const Character = z.string().refine(text => [...text].length === 1 && !/[\r\n\0]/.test(text), 'One character, not a line end')

const apostrophes = z
  .enum(['remove', 'keep'])
  .describe(
    '`remove` takes off the apostrophe before `=`, `+`, `-`, `@` and their like, which failed.csv puts there. Sniffed: removed where the file has such cells',
  )

const csv = {
  format: z.literal('csv').describe('Text with a delimiter'),
  encoding: z
    .string()
    .refine(isEncoding, 'An encoding by its WHATWG name, such as utf-8, utf-16le, windows-1252 or shift_jis, or utf-32le or utf-32be')
    .describe(
      'The encoding by its WHATWG name, such as `utf-8`, `utf-16le`, `windows-1252` or `shift_jis`; `utf-32le` and `utf-32be` are read too. Stating it answers the question which encoding the file has',
    ),
  badBytes: z
    .literal('replace')
    .describe(
      '`replace` accepts bytes that are not in the encoding: each place is read as U+FFFD. Without it a file with such bytes is not run',
    ),
  delimiter: Character.describe('The character between two cells'),
  quote: Character.nullable().describe('The character around cells; null reads quotes as ordinary characters'),
  strictQuotes: z
    .boolean()
    .describe('True refuses text after a closing quote and quotes inside an unquoted cell; false reads them as they stand (`5" pipe`)'),
  apostrophes,
  headerRow: z.boolean().describe('The first row names the columns; false names them by number'),
  skipRows: z
    .int()
    .min(0)
    .max(1000)
    .describe('Lines left out above the header, as a text editor counts them; a `sep=` line is one of them'),
  comment: z.string().min(1).max(8).nullable().describe('Lines that begin with this are no rows; null: every line is one'),
  shortRows: z.enum(['refuse', 'fill']).describe('A row with fewer cells than the header: refused as ragged, or filled with empty cells'),
}

const rangeShape = /^\$?[A-Z]{1,3}\$?\d{0,7}(:\$?[A-Z]{1,3}\$?\d{0,7})?$/i

const xlsx = {
  format: z.literal('xlsx').describe('A workbook'),
  apostrophes,
  sheet: z.string().min(1).max(255).describe('The sheet by its name'),
  headerRow: z.boolean().describe('The first row of the range with anything in it names the columns; false names them by number'),
  range: z
    .string()
    .regex(rangeShape, 'A range as a spreadsheet writes it: B3:F200, B3:F, B:F or B3')
    .nullable()
    .describe('What of the sheet is read: `B3:F`, `B:F`, `A5`; null is all of it'),
}

const CsvReader = z
  .strictObject({
    format: csv.format,
    encoding: csv.encoding.default('utf-8'),
    // Left out unless a person accepts it: builds that do not know it read every other file.
    badBytes: csv.badBytes.optional(),
    // Left out unless the file has such cells: earlier builds do not know it.
    apostrophes: csv.apostrophes.optional(),
    delimiter: csv.delimiter.default(','),
    quote: csv.quote.default('"'),
    strictQuotes: csv.strictQuotes.default(false),
    headerRow: csv.headerRow.default(true),
    skipRows: csv.skipRows.default(0),
    comment: csv.comment.default(null),
    shortRows: csv.shortRows.default('refuse'),
  })
  .refine(({delimiter, quote}) => delimiter !== quote, {path: ['quote'], message: 'The quote cannot be the delimiter'})
  .refine(({delimiter, quote, comment}) => !comment || (!comment.startsWith(delimiter) && comment !== quote), {
    path: ['comment'],
    message: 'A comment cannot begin with the delimiter or the quote',
  })
export type CsvReader = z.infer<typeof CsvReader>

const XlsxReader = z.strictObject({
  format: xlsx.format,
  // As of CSV.
  apostrophes: xlsx.apostrophes.optional(),
  sheet: xlsx.sheet,
  headerRow: xlsx.headerRow.default(true),
  range: xlsx.range.default(null),
})
export type XlsxReader = z.infer<typeof XlsxReader>

/** Readers kept before there were workbooks said `kind: 'csv'` or nothing; snapshots never change. */
const withFormat = (stored: unknown) => {
  if (typeof stored !== 'object' || stored === null || 'format' in stored) return stored
  const {kind = 'csv', ...rest} = stored as {kind?: unknown}
  return {format: kind, ...rest}
}

/** How a file is read. A run keeps the resolved one, so that row N stays row N. */
export const Reader = z.preprocess(withFormat, z.discriminatedUnion('format', [CsvReader, XlsxReader]))
export type Reader = z.infer<typeof Reader>

/** What a person states; the rest is sniffed. No defaults here: an absent key must stay absent. */
export const CsvOptions = z
  .strictObject({...csv, badBytes: csv.badBytes.nullable().describe('As in a reader; null takes it back')})
  .partial()
export type CsvOptions = z.infer<typeof CsvOptions>
export const XlsxOptions = z.strictObject(xlsx).partial()
export type XlsxOptions = z.infer<typeof XlsxOptions>
export const ReaderOptions = z
  .union([CsvOptions, XlsxOptions])
  .meta({id: 'ReaderOptions', description: 'How a file is read, as somebody states it; what is left out is sniffed from the file'})
export type ReaderOptions = z.infer<typeof ReaderOptions>
