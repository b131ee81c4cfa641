import {isAscii, isUtf8} from 'node:buffer'
import {Refusal} from '../errors.ts'
import {scoreDelimiters} from './delimiter.ts'
import {type CsvOptions, type CsvReader, Reader} from './reader.ts'
import {cutLength} from './text.ts'

export const sampleBytes = 65_536
const byteOrderMarks: [string, number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** What was made of the file's first bytes, and why; the interface shows it so that a person can overrule it. */
export type CsvSniffed = {
  encoding: string
  /** `ascii`: nothing beyond ASCII in the sample, so UTF-8 is a guess that later bytes may correct. `fallback`: neither UTF-8 nor UTF-16. */
  how: 'stated' | 'byte order mark' | 'utf-8' | 'ascii' | 'zero bytes' | 'fallback'
  delimiter: string
  delimiterHow: 'stated' | 'sep line' | 'counted' | 'single column'
  skipRows: number
}

/** The reader to use: what is stated holds, the rest is sniffed from the file's first bytes (64 KiB are enough). */
export const resolveReader = (sample: Uint8Array, stated: CsvOptions = {}): {reader: CsvReader; sniffed: CsvSniffed} => {
  const {encoding, how} = stated.encoding ? {encoding: stated.encoding, how: 'stated' as const} : sniffEncoding(sample)
  const text = new TextDecoder(encoding).decode(sample, {stream: true})
  const separator = /^"?sep=([^\r\n"])"?(?:\r\n|\r|\n)/i.exec(text)?.[1]
  const skipRows = stated.skipRows ?? (separator ? 1 : 0)
  const {delimiter, delimiterHow} = stated.delimiter
    ? {delimiter: stated.delimiter, delimiterHow: 'stated' as const}
    : separator
      ? {delimiter: separator, delimiterHow: 'sep line' as const}
      : countDelimiters(text, {quote: stated.quote, skipRows, comment: stated.comment, cut: sample.length >= sampleBytes})
  const reader = consistent({...stated, encoding: new TextDecoder(encoding).encoding, delimiter, skipRows})
  return {reader, sniffed: {encoding: reader.encoding, how, delimiter, delimiterHow, skipRows}}
}

/** What is stated and what is sniffed can contradict each other: a comment that begins with the delimiter, say. */
const consistent = (options: CsvOptions) => checked({...options, format: 'csv'}) as CsvReader

/** The whole of a reader, defaults filled in. */
export const checked = (options: object): Reader => {
  const {data, error} = Reader.safeParse(options)
  if (data) return data
  throw new Refusal(
    'INVALID',
    `The file cannot be read so: ${error.issues.map(({message}) => message).join('; ')}. State other reader options`,
    {issues: error.issues},
  )
}

/** A byte order mark decides; then two-byte text by its zero bytes; then UTF-8, where a character cut by the sample's end is no fault; else windows-1252. */
export const sniffEncoding = (sample: Uint8Array): Pick<CsvSniffed, 'encoding' | 'how'> => {
  const marked = byteOrderMarks.find(([, mark]) => mark.every((byte, index) => sample[index] === byte))
  if (marked) return {encoding: marked[0], how: 'byte order mark'}
  const wide = sniffWide(sample)
  if (wide) return {encoding: wide, how: 'zero bytes'}
  if (isAscii(sample)) return {encoding: 'utf-8', how: 'ascii'}
  const whole = sample.subarray(0, sample.length - (sample.length >= sampleBytes ? cutLength(sample) : 0))
  return isUtf8(whole) ? {encoding: 'utf-8', how: 'utf-8'} : {encoding: 'windows-1252', how: 'fallback'}
}

/** Text in a western script has a zero in most of its two-byte characters, always on the same side. */
const sniffWide = (sample: Uint8Array) => {
  const zeros: [number, number] = [0, 0]
  for (let index = 0; index < sample.length; index++) if (sample[index] === 0) zeros[index % 2]!++
  const pairs = sample.length / 2
  if (zeros[1] > pairs * 0.3 && zeros[0] < pairs * 0.05) return 'utf-16le'
  if (zeros[0] > pairs * 0.3 && zeros[1] < pairs * 0.05) return 'utf-16be'
  return
}

const countDelimiters = (text: string, options: Parameters<typeof scoreDelimiters>[1]) => {
  const delimiter = scoreDelimiters(text, options)
  return delimiter ? {delimiter, delimiterHow: 'counted' as const} : {delimiter: ',', delimiterHow: 'single column' as const}
}
