import {isAscii, isUtf8} from 'node:buffer'

/** Bytes that are not the text they are said to be. `byte` counts from 0 and is known for UTF-8 only; `exact` says the text before the fault was given out. */
export class TextFault extends Error {
  override name = 'TextFault'
  readonly code: 'FILE_ENCODING' | 'FILE_NUL'
  readonly at: {byte?: number; exact: boolean; cut?: boolean}

  constructor(code: TextFault['code'], at: TextFault['at']) {
    super(code)
    this.code = code
    this.at = at
  }
}

/** `from` is where the text begins in the file, known for UTF-8 only. */
type Decoded = {text: Buffer; from?: number; fault?: TextFault}
type Decoder = {decode(piece: Buffer): Decoded; end(): Decoded}
export type TextOptions = {
  encoding: string
  /** Where UTF-8 was only a guess: the single-byte encoding to go on with if the first bytes beyond ASCII are not UTF-8. */
  fallback?: string | undefined
  onFallback?: ((encoding: string) => void) | undefined
}

const pieceBytes = 65_536

/** The file as UTF-8 in pieces of at most 64 KiB of input, checked: what stands before a fault is given out first, then the fault is thrown. */
export async function* utf8Of(bytes: AsyncIterable<Uint8Array>, options: TextOptions): AsyncGenerator<Buffer, void, undefined> {
  const decoder = new TextDecoder(options.encoding).encoding === 'utf-8' ? utf8Decoder(options) : otherDecoder(options.encoding)
  for await (const chunk of bytes) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (let at = 0; at < buffer.length; at += pieceBytes) yield* untilFault(decoder.decode(buffer.subarray(at, at + pieceBytes)))
  }
  yield* untilFault(decoder.end())
}

function* untilFault({text, from, fault}: Decoded) {
  const nul = text.indexOf(0)
  const good = nul < 0 ? text : text.subarray(0, nul)
  if (good.length) yield good
  if (nul >= 0) throw new TextFault('FILE_NUL', {exact: true, ...(from !== undefined && {byte: from + nul})})
  if (fault) throw fault
}

/** UTF-8 is checked, not decoded: it goes on as the bytes it came as. */
const utf8Decoder = ({fallback, onFallback}: TextOptions): Decoder => {
  let rest: Buffer = Buffer.alloc(0)
  let before = 0
  let ascii = true
  let other: Decoder | undefined
  const decode = (piece: Buffer): Decoded => {
    if (other) return other.decode(piece)
    const all = rest.length ? Buffer.concat([rest, piece]) : piece
    const text = all.subarray(0, all.length - cutLength(all))
    if (!isUtf8(text)) return fail(all, firstFault(text))
    rest = Buffer.from(all.subarray(text.length))
    ascii &&= isAscii(text)
    before += text.length
    return {text, from: before - text.length}
  }
  const fail = (all: Buffer, good: number, cut = false): Decoded => {
    if (ascii && fallback && isAscii(all.subarray(0, good))) {
      onFallback?.(fallback)
      other = otherDecoder(fallback)
      return other.decode(all)
    }
    return {text: all.subarray(0, good), from: before, fault: new TextFault('FILE_ENCODING', {byte: before + good, exact: true, cut})}
  }
  const end = (): Decoded => (other ? other.end() : rest.length ? fail(rest, 0, true) : {text: rest})
  return {decode, end}
}

const otherDecoder = (encoding: string): Decoder => {
  const decoder = new TextDecoder(encoding, {fatal: true})
  const attempt = (piece?: Buffer): Decoded => {
    try {
      return {text: Buffer.from(decoder.decode(piece, {stream: piece !== undefined}))}
    } catch {
      return {text: Buffer.alloc(0), fault: new TextFault('FILE_ENCODING', {exact: false, cut: piece === undefined})}
    }
  }
  return {decode: attempt, end: () => attempt()}
}

/** How many bytes at the end begin a character that is not complete. */
export const cutLength = (bytes: Uint8Array) => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? back : 0
  }
  return 0
}

/** By halving: a prefix is good when it is UTF-8 but for a cut character at its end. */
const firstFault = (bytes: Buffer) => {
  let good = 0
  let bad = bytes.length
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    const prefix = bytes.subarray(0, middle)
    if (isUtf8(prefix.subarray(0, middle - cutLength(prefix)))) good = middle
    else bad = middle
  }
  return good - cutLength(bytes.subarray(0, good))
}
