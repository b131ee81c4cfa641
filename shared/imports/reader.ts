import {z} from 'zod'

const isEncoding = (label: string) => {
  try {
    return Boolean(new TextDecoder(label, {fatal: true}))
  } catch {
    return false
  }
}

const Character = z.string().refine(text => [...text].length === 1 && !/[\r\n\0]/.test(text), 'One character, not a line end')

const options = {
  kind: z.literal('csv'),
  encoding: z.string().refine(isEncoding, 'An encoding by its WHATWG name, such as utf-8, utf-16le, windows-1252 or shift_jis'),
  delimiter: Character,
  /** Null reads quotes as ordinary characters. */
  quote: Character.nullable(),
  /** True refuses text after a closing quote and quotes inside an unquoted cell; false reads them as they stand (`5" pipe`). */
  strictQuotes: z.boolean(),
  /** False names the columns by number. */
  headerRow: z.boolean(),
  /** Lines left out above the header, as a text editor counts them; a `sep=` line is one of them. */
  skipRows: z.int().min(0).max(1000),
  /** Lines that begin with this are no rows. */
  comment: z.string().min(1).max(8).nullable(),
}

/** How a file is read. A run keeps the resolved one, so that row N stays row N. */
export const Reader = z
  .strictObject({
    kind: options.kind.default('csv'),
    encoding: options.encoding.default('utf-8'),
    delimiter: options.delimiter.default(','),
    quote: options.quote.default('"'),
    strictQuotes: options.strictQuotes.default(false),
    headerRow: options.headerRow.default(true),
    skipRows: options.skipRows.default(0),
    comment: options.comment.default(null),
  })
  .refine(({delimiter, quote}) => delimiter !== quote, {path: ['quote'], message: 'The quote cannot be the delimiter'})
  .refine(({delimiter, quote, comment}) => !comment || (!comment.startsWith(delimiter) && comment !== quote), {
    path: ['comment'],
    message: 'A comment cannot begin with the delimiter or the quote',
  })
export type Reader = z.infer<typeof Reader>

/** What a person states; the rest is sniffed. No defaults here: an absent key must stay absent. */
export const ReaderOptions = z.strictObject(options).partial()
export type ReaderOptions = z.infer<typeof ReaderOptions>
