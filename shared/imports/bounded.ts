import {Refusal} from '../errors.ts'

/** Set aside for one file made from a run. */
const fileLimit = 64 * 1024 * 1024

export type Piece = {
  /** How many of the file's rows are in it. */
  rows: number
  text: string
}

/** `onCut`: the file ends before the piece that is too much, and this hears how many rows it has. `otherwise`: what a refusal offers instead. */
type Options = {limit?: number | undefined; onCut?: ((rows: number) => void) | undefined; otherwise?: string | undefined}

/** A file in bytes. Past the limit nothing more is given out, but rows and bytes are counted to the end and then told in `RESULTS_TOO_LARGE`. */
export async function* bounded(
  pieces: AsyncIterable<Piece>,
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
    `The file would take ${bytes} bytes for ${rows} rows, more than the ${limit} set aside. ${otherwise}`,
    extra,
  )
}

const pageByPage = "Read the run's records page by page, or import the file in parts"
