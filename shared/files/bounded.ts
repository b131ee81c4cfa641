import {Refusal} from '../errors.ts'

const fileLimit = 64 * 1024 * 1024

export type TextPiece = {
  rows: number
  text: string
}

/**
 * `limit`: bytes. If `onCut` is given, the file ends before a piece that would exceed the limit, and `onCut` gets the number of rows so far. The file
 * never ends before the first piece with rows, so this piece must be smaller than the limit. `otherwise`: the advice at the end of the refusal.
 */
type Options = {limit?: number | undefined; onCut?: ((rows: number) => void) | undefined; otherwise?: string | undefined}

/**
 * Yields the pieces of a file as UTF-8. Without `onCut`, a piece that exceeds the limit and all later pieces are only counted. At the end,
 * `RESULTS_TOO_LARGE` is thrown with the rows and bytes of the whole file.
 */
export async function* bounded(
  pieces: AsyncIterable<TextPiece>,
  {limit = fileLimit, onCut, otherwise}: Options = {},
): AsyncGenerator<Buffer, void, undefined> {
  const total = {rows: 0, bytes: 0}
  for await (const {rows, text} of pieces) {
    if (onCut && total.rows > 0 && total.bytes + Buffer.byteLength(text) > limit) return onCut(total.rows)
    total.rows += rows
    const chunk = total.bytes > limit ? null : Buffer.from(text)
    total.bytes += chunk ? chunk.length : Buffer.byteLength(text)
    if (chunk?.length && total.bytes <= limit) yield chunk
  }
  if (total.bytes > limit) throw tooLarge({...total, limit}, otherwise)
}

const tooLarge = (extra: {rows: number; bytes: number; limit: number}, otherwise = pageByPage) => {
  const [rows, bytes, limit] = [extra.rows, extra.bytes, extra.limit].map(count => count.toLocaleString('en'))
  return new Refusal(
    'RESULTS_TOO_LARGE',
    `The file would take ${bytes} bytes for ${rows} rows, more than the limit of ${limit} bytes. ${otherwise}`,
    extra,
  )
}

const pageByPage = "Read the run's records page by page, or import the file in parts"
