import {Refusal} from '../errors.ts'

/** Set aside for one file made from a run. */
const fileLimit = 64 * 1024 * 1024

export type Piece = {
  /** How many of the file's rows are in it. */
  rows: number
  text: string
}

/** A file in bytes. Past the limit nothing more is given out, but rows and bytes are counted to the end and then told in `RESULTS_TOO_LARGE`. */
export async function* bounded(pieces: AsyncIterable<Piece>, limit: number = fileLimit): AsyncGenerator<Buffer, void, undefined> {
  const total = {rows: 0, bytes: 0}
  for await (const {rows, text} of pieces) {
    total.rows += rows
    const chunk = total.bytes > limit ? null : Buffer.from(text)
    total.bytes += chunk ? chunk.length : Buffer.byteLength(text)
    if (chunk?.length && total.bytes <= limit) yield chunk
  }
  if (total.bytes > limit) throw tooLarge({...total, limit})
}

const tooLarge = ({rows, bytes, limit}: {rows: number; bytes: number; limit: number}) =>
  new Refusal(
    'RESULTS_TOO_LARGE',
    `The file would take ${bytes.toLocaleString('en')} bytes for ${rows.toLocaleString('en')} rows, more than the ${limit.toLocaleString('en')} set aside. Read the run's records page by page, or import the file in parts`,
    {rows, bytes, limit},
  )
