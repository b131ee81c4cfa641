import {isUtf8} from 'node:buffer'
import iconv from 'iconv-lite'
import {isWide} from './encoding.ts'
import {cutLength, scanUtf8} from './utf8-scan.ts'

/** Placeholder for undecodable bytes, which `BadBytes.restore` replaces by U+FFFD. Valid text does not contain this noncharacter. */
export const badPlace = '\ufdd0'

/**
 * `bad`: the number of undecodable places. `from` and `badByte`: the byte offsets in the file of the text and of its first undecodable place, known
 * for UTF-8 only. `cut`: an undecodable place in this piece is an incomplete character at the end of the file.
 */
export type DecodedText = {text: Buffer; bad: number; from?: number; badByte?: number; cut?: boolean}
export type Decoder = {decode(piece: Buffer): DecodedText; end(): DecodedText}

/** Decodes the bytes of an encoding to UTF-8, piece by piece. Undecodable bytes become `badPlace` and are counted. */
export const openDecoder = (encoding: string): Decoder => {
  if (encoding === 'utf-8') return openUtf8()
  if (isWide(encoding)) return openWide(encoding)
  return openLegacy(encoding)
}

const badBytes = Buffer.from(badPlace)

const openUtf8 = (): Decoder => {
  let rest: Buffer = Buffer.alloc(0)
  let before = 0
  const decode = (piece: Buffer): DecodedText => {
    const all = rest.length ? Buffer.concat([rest, piece]) : piece
    const text = all.subarray(0, all.length - cutLength(all))
    rest = Buffer.from(all.subarray(text.length))
    const from = before
    before += text.length
    return isUtf8(text) ? {text, bad: 0, from} : {...withoutBad(text, from), from}
  }
  const end = (): DecodedText => (rest.length ? {text: badBytes, bad: 1, from: before, badByte: before, cut: true} : {text: rest, bad: 0})
  return {decode, end}
}

const withoutBad = (bytes: Buffer, before: number): DecodedText => {
  const parts: Buffer[] = []
  let [bad, good, badByte] = [0, 0, 0]
  const replace = (from: number, to: number) => {
    if (bad++ === 0) badByte = before + from
    parts.push(bytes.subarray(good, from), badBytes)
    good = to
  }
  const {rest} = scanUtf8(bytes, replace)
  if (rest) replace(bytes.length - rest, bytes.length)
  return {text: Buffer.concat([...parts, bytes.subarray(good)]), bad, badByte}
}

/** A lone surrogate and an invalid code point are undecodable places. */
const openWide = (encoding: string): Decoder => {
  const width = encoding.startsWith('utf-16') ? 2 : 4
  const isBig = encoding.endsWith('be')
  let rest: Buffer = Buffer.alloc(0)
  const decode = (piece: Buffer): DecodedText => {
    const all = rest.length ? Buffer.concat([rest, piece]) : piece
    const whole = all.subarray(0, all.length - (all.length % width))
    const text = width === 2 ? readUtf16(whole, isBig) : readUtf32(whole, isBig)
    // The second half of the last surrogate pair may be in the next piece.
    const half = width === 2 && isHighSurrogate(text.charCodeAt(text.length - 1)) ? 1 : 0
    rest = Buffer.from(all.subarray(whole.length - 2 * half))
    return replaceHalves(text.slice(0, text.length - half))
  }
  const end = (): DecodedText => (rest.length ? {text: badBytes, bad: 1, cut: true} : {text: rest, bad: 0})
  return {decode, end}
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff

const readUtf16 = (bytes: Buffer, isBig: boolean) => (isBig ? Buffer.from(bytes).swap16() : bytes).toString('utf16le')

/** An invalid code point becomes a lone surrogate, which `replaceHalves` replaces. */
const readUtf32 = (bytes: Buffer, isBig: boolean) => {
  const parts: string[] = []
  for (let at = 0; at < bytes.length; at += 4) {
    const code = isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)
    parts.push(code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? '\udc00' : String.fromCodePoint(code))
  }
  return parts.join('')
}

const replaceHalves = (text: string): DecodedText => {
  if (text.isWellFormed()) return {text: Buffer.from(text), bad: 0}
  let bad = 0
  const replaced = text.replace(/\p{Surrogate}/gu, () => {
    bad++
    return badPlace
  })
  return {text: Buffer.from(replaced), bad}
}

/** Node lacks parts of these encodings: the Windows extension of EUC-KR, and the Hong Kong and ETEN characters of Big5. */
const byIconv: Record<string, string> = {'euc-kr': 'cp949', big5: 'big5'}

const openLegacy = (encoding: string): Decoder => {
  const decode = byIconv[encoding] ? decodeByIconv(byIconv[encoding]) : decodeByNode(encoding)
  return {decode: piece => replaceLost(decode(piece)), end: () => ({...replaceLost(decode()), cut: true})}
}

const decodeByNode = (encoding: string) => {
  const decoder = new TextDecoder(encoding)
  // Without `stream`, some versions of Node read windows-1252 as ISO-8859-1.
  return (piece?: Buffer) => (piece ? decoder.decode(piece, {stream: true}) : decoder.decode())
}

const decodeByIconv = (name: string) => {
  const decoder = iconv.getDecoder(name)
  return (piece?: Buffer) => (piece ? decoder.write(piece) : (decoder.end() ?? ''))
}

/** Decoders write U+FFFD for undecodable bytes. gb18030 can also encode U+FFFD; such a character is reported as undecodable too. */
const replaceLost = (text: string): DecodedText => {
  const parts = text.split('\ufffd')
  return {text: Buffer.from(parts.length > 1 ? parts.join(badPlace) : text), bad: parts.length - 1}
}
