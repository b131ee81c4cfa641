import {isDeepStrictEqual} from 'node:util'
import {z} from 'zod'
import {findEncoding} from './text/encoding.ts'

const isEncoding = (label: string) => findEncoding(label) !== null

const Character = z.string().refine(text => [...text].length === 1 && !/[\r\n\0]/.test(text), 'Must be one character and not a line end')

const apostrophes = z
  .enum(['remove', 'keep'])
  .describe(
    '`remove` removes the apostrophe that failed.csv puts before `=`, `+`, `-`, `@` and similar characters. Default: removed if the file has such cells',
  )

const reasons = z
  .enum(['remove', 'keep'])
  .describe(
    '`remove` leaves out the columns `lading: row` and `lading: error` that failed.csv begins with. Default: left out if the file begins with them. A file whose run can be retried is `FAILED_FILE`; with `keep` it is an ordinary file',
  )

const csv = {
  format: z.literal('csv').describe('Text with a delimiter'),
  encoding: z
    .string()
    .refine(isEncoding, 'Must be a WHATWG encoding name, such as utf-8, utf-16le, windows-1252 or shift_jis, or utf-32le or utf-32be')
    .describe(
      'The WHATWG name of the encoding, such as `utf-8`, `utf-16le`, `windows-1252` or `shift_jis`, or `utf-32le` or `utf-32be`. Setting it resolves an encoding problem of the file',
    ),
  badBytes: z
    .literal('replace')
    .describe(
      '`replace` accepts bytes that are not valid in the encoding and reads each as U+FFFD. Without it, a file with such bytes cannot be run',
    ),
  delimiter: Character.describe('The character between two cells'),
  quote: Character.nullable().describe('The character around quoted cells; null reads quotes as ordinary characters'),
  strictQuotes: z
    .boolean()
    .describe('`true` refuses text after a closing quote and quotes inside an unquoted cell; `false` reads them as text (`5" pipe`)'),
  apostrophes,
  reasons,
  openQuotes: z
    .enum(['refuse', 'keep'])
    .describe(
      'What to do with a row that seems to have an open quote: text follows the closing quote of a cell of several lines, so the cell may contain other rows. `refuse`, the default for a new file with such a row: the row fails. `keep`: the cell is read as it is',
    ),
  headerRow: z.boolean().describe('Whether the first row has the column names; `false` names the columns by number'),
  skipRows: z
    .int()
    .min(0)
    .max(1000)
    .describe('Number of lines to skip above the header, as a text editor counts them, including a `sep=` line'),
  comment: z.string().min(1).max(8).nullable().describe('Lines that begin with this text are skipped; null skips none'),
  shortRows: z
    .enum(['refuse', 'fill'])
    .describe('What to do with a row that has fewer cells than the header: `refuse` fails it as ragged, `fill` adds empty cells'),
}

const rangeShape = /^\$?[A-Z]{1,3}\$?\d{0,7}(:\$?[A-Z]{1,3}\$?\d{0,7})?$/i

const xlsx = {
  format: z.literal('xlsx').describe('A workbook'),
  apostrophes,
  decimals: z
    .literal('shortest')
    .describe(
      '`shortest` reads 19.989999999999998, which spreadsheet programs store for 19.99, as `19.99`. Without it, decimals have the digits of the file',
    ),
  sheet: z.string().min(1).max(255).describe('Name of the sheet'),
  headerRow: z.boolean().describe('Whether the first non-empty row of the range has the column names; `false` names the columns by number'),
  range: z
    .string()
    .regex(rangeShape, 'Must be a range such as B3:F200, B3:F, B:F or B3')
    .nullable()
    .describe('The range of the sheet to read, such as `B3:F`, `B:F` or `A5`; null reads the whole sheet'),
}

const CsvReader = z
  .strictObject({
    format: csv.format,
    encoding: csv.encoding.default('utf-8'),
    // The key is absent unless a user accepts bad bytes, because older builds cannot read a reader with this key.
    badBytes: csv.badBytes.optional(),
    // The key is absent unless a user sets it or the cells have the apostrophes that failed.csv puts before texts like formulas. Older builds cannot
    // read a reader with this key.
    apostrophes: csv.apostrophes.optional(),
    // The key is absent unless a user sets it or the file has the columns of reasons, because older builds do not know the key.
    reasons: csv.reasons.optional(),
    delimiter: csv.delimiter.default(','),
    quote: csv.quote.default('"'),
    strictQuotes: csv.strictQuotes.default(false),
    // The key is absent if no cell has an open quote, because older builds do not know the key. It is also absent if an older build read the file, so
    // that a retry reads the same values as its run: rows with an open quote are then kept.
    openQuotes: csv.openQuotes.optional(),
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
  // The key is absent unless a user sets it or the cells have the apostrophes that failed.csv puts before texts like formulas. Older builds cannot
  // read a reader with this key.
  apostrophes: xlsx.apostrophes.optional(),
  // The key is absent if the sheet has no such decimals, because older builds do not know the key. It is also absent if an older build read the file,
  // so that a retry reads the same values as its run.
  decimals: xlsx.decimals.optional(),
  sheet: xlsx.sheet,
  headerRow: xlsx.headerRow.default(true),
  range: xlsx.range.default(null),
})
export type XlsxReader = z.infer<typeof XlsxReader>

/** Adds the format to an older stored reader, which has `kind: 'csv'` or no format. Old readers remain, because snapshots never change. */
const withFormat = (stored: unknown) => {
  if (typeof stored !== 'object' || stored === null || 'format' in stored) return stored
  const {kind = 'csv', ...rest} = stored as {kind?: unknown}
  return {format: kind, ...rest}
}

/** How a file is read. A run stores the resolved reader, so that row numbers never change. */
export const Reader = z.preprocess(withFormat, z.discriminatedUnion('format', [CsvReader, XlsxReader]))
export type Reader = z.infer<typeof Reader>

/** Options that the caller states; the other options are sniffed. There are no defaults, because an absent key must stay absent. */
export const CsvOptions = z.strictObject({...csv, badBytes: csv.badBytes.nullable().describe('As in a reader; null removes it')}).partial()
export type CsvOptions = z.infer<typeof CsvOptions>
export const XlsxOptions = z
  .strictObject({
    ...xlsx,
    decimals: xlsx.decimals
      .nullable()
      .describe(
        'As in a reader, and the default if the sheet has such decimals; null keeps the digits of the file until the next change of an option',
      ),
  })
  .partial()
export type XlsxOptions = z.infer<typeof XlsxOptions>
export const ReaderOptions = z
  .union([CsvOptions, XlsxOptions])
  .meta({id: 'ReaderOptions', description: 'How to read a file. Options that are left out are detected from the file'})
export type ReaderOptions = z.infer<typeof ReaderOptions>

type Decimals = {decimals?: 'shortest' | null | undefined}

/** Returns the options of a workbook with `decimals: shortest`, unless they have the key. The value null removes the key. */
export const withDecimals = <Options extends Decimals>({
  decimals = 'shortest',
  ...options
}: Options): Omit<Options, 'decimals'> & {decimals?: 'shortest'} => ({
  ...options,
  ...(decimals && {decimals}),
})

/** Removes `decimals` if no cell that was read has such a decimal. */
export const dropUnusedDecimals = <Options extends Decimals>(options: Options, {decimals}: {decimals: {found: boolean}}): Options => {
  const {decimals: _, ...rest} = options
  return decimals.found ? options : (rest as Options)
}

/** Removes `openQuotes` if no cell that was read has an open quote. */
export const dropUnusedOpenQuotes = ({openQuotes, ...rest}: CsvReader, found: {openQuotes?: {found: boolean} | undefined}): CsvReader => ({
  ...rest,
  ...(found.openQuotes?.found && openQuotes && {openQuotes}),
})

/**
 * Whether `after` reads each row as `before` did. It may also keep rows with an open quote that `before` refused. The reverse is false: if `after`
 * refuses a row that `before` kept, cleaning no longer excludes the repeats of this row.
 */
export const isCompatibleReader = (before: unknown, after: unknown): boolean => {
  const [{openQuotes: was, ...one}, {openQuotes: is, ...other}] = [before, after] as [CsvOptions, CsvOptions]
  return isDeepStrictEqual(one, other) && (was === 'refuse' || is !== 'refuse')
}
