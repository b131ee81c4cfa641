import {isUtf8} from 'node:buffer'
import {badPlace, type DecodedText, openDecoder} from './decoder.ts'

/**
 * Thrown for bytes that are invalid in the encoding, and for a NUL. `byte`: the offset from 0, known for UTF-8 only. `cut`: the file ends within a
 * character.
 */
export class TextFault extends Error {
  override name = 'TextFault'
  readonly code: 'FILE_ENCODING' | 'FILE_NUL'
  readonly at: {byte?: number; cut?: boolean}

  constructor(code: TextFault['code'], at: TextFault['at']) {
    super(code)
    this.code = code
    this.at = at
  }
}

export type TextOptions = {
  encoding: string
  /**
   * Called for each decoded piece with undecodable places, with their number. Each place becomes the character `badPlace`. Without `onBad`, the first
   * undecodable place throws a TextFault.
   */
  onBad?: ((places: number) => void) | undefined
}

const badPlaceBytes = Buffer.from(badPlace)
const pieceBytes = 65_536

/** Yields the file as UTF-8, in pieces of at most 64 KiB of input. At a fault, yields the text before the fault and then throws a TextFault. */
export async function* utf8Of(bytes: AsyncIterable<Uint8Array>, {encoding, onBad}: TextOptions): AsyncGenerator<Buffer, void, undefined> {
  const decoder = openDecoder(encoding)
  for await (const chunk of bytes) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (let at = 0; at < buffer.length; at += pieceBytes) yield* untilFault(decoder.decode(buffer.subarray(at, at + pieceBytes)), onBad)
  }
  yield* untilFault(decoder.end(), onBad)
}

function* untilFault({text, bad, from, badByte, cut = false}: DecodedText, onBad: TextOptions['onBad']) {
  const nul = text.indexOf(0)
  const badAt = bad > 0 && !onBad ? text.indexOf(badPlaceBytes) : -1
  const isNul = nul >= 0 && (badAt < 0 || nul < badAt)
  const end = isNul ? nul : badAt
  const good = end < 0 ? text : text.subarray(0, end)
  if (bad > 0) onBad?.(bad)
  if (good.length) yield good
  if (isNul) throw new TextFault('FILE_NUL', from !== undefined && bad === 0 ? {byte: from + nul} : {})
  if (badAt >= 0) throw new TextFault('FILE_ENCODING', {cut, ...(badByte !== undefined && {byte: badByte})})
}

/** Drops an incomplete character at the end of the sample. */
export const decodeSample = (sample: Uint8Array, encoding: string): string => {
  const bytes = Buffer.from(sample.buffer, sample.byteOffset, sample.byteLength)
  const text = isUtf8(bytes) && encoding === 'utf-8' ? bytes : openDecoder(encoding).decode(bytes).text
  return text
    .toString()
    .replace(/^\ufeff/, '')
    .replaceAll(badPlace, '\ufffd')
}
