import {Refusal} from '../../errors.ts'
import {hasGuards} from '../../runs/results/formula-guard.ts'
import {hasReasonColumns} from '../../runs/results/reason-columns.ts'
import {scoreDelimiters} from '../csv/delimiter.ts'
import {type CsvOptions, type CsvReader, Reader} from '../reader.ts'
import {findEncoding, findMarked, isSameFamily, isWide} from './encoding.ts'
import {decodeSample} from './text.ts'

export const sampleBytes = 65_536

/** `how` and `delimiterHow` say how the encoding and the delimiter were found. The UI shows them, so that a user can correct the reader. */
export type CsvSniffed = {
  encoding: string
  /**
   * `stated`: the caller set the encoding for this file. `content type`: the charset that was sent with the file. `template`: the encoding stored in
   * the template. `ascii`: the file has nothing beyond ASCII. `fallback`: the bytes do not show the encoding, so a user must choose one.
   */
  how: 'stated' | 'content type' | 'template' | 'byte order mark' | 'utf-8' | 'ascii' | 'zero bytes' | 'fallback'
  delimiter: string
  delimiterHow: 'stated' | 'sep line' | 'counted' | 'single column'
  skipRows: number
  /** Set if Lading wrote the file as CSV. The reader options of a template describe another file and do not apply. */
  convertedFrom?: ConvertedFrom
}
export type ConvertedFrom = 'json' | 'query'

/** Encodings that the content type (`charset`) and the template (`kept`) name for a file. */
export type NamedEncodings = {charset?: string | undefined; kept?: string | undefined}

/**
 * Keeps stated options and sniffs the others from the first 64 KiB of the file. If no encoding is stated, named or shown by these bytes, UTF-8 is
 * assumed until the whole file is read.
 */
export const resolveReader = (
  sample: Uint8Array,
  stated: CsvOptions = {},
  named: NamedEncodings = {},
): {reader: CsvReader; sniffed: CsvSniffed} => {
  const {encoding, how} = sniffEncoding(sample, {...named, stated: stated.encoding})
  const text = decodeSample(sample, encoding)
  const separator = /^"?sep=([^\r\n"])"?(?:\r\n|\r|\n)/i.exec(text)?.[1]
  const skipRows = stated.skipRows ?? (separator ? 1 : 0)
  const {delimiter, delimiterHow} = stated.delimiter
    ? {delimiter: stated.delimiter, delimiterHow: 'stated' as const}
    : separator
      ? {delimiter: separator, delimiterHow: 'sep line' as const}
      : countDelimiters(text, {quote: stated.quote, skipRows, comment: stated.comment, cut: sample.length >= sampleBytes})
  const {badBytes, ...others} = stated
  const hasReasons = stated.headerRow !== false && hasReasonColumns(text, {delimiter, skipRows})
  // failed.csv has an apostrophe before cells that look like formulas, but the sample of a long file may contain none. So a file with reason columns
  // is assumed to have apostrophes, which saves a second reading. A long file that begins with `sep=,` is treated alike, because a failed.csv of an
  // earlier build begins this way and has no reason columns.
  const isGuarded = hasGuards(text, delimiter) || hasReasons || (separator === ',' && sample.length >= sampleBytes)
  const reader = consistent({
    ...(hasReasons && {reasons: 'remove'}),
    ...(isGuarded && {apostrophes: 'remove'}),
    ...others,
    ...(badBytes && {badBytes}),
    encoding,
    delimiter,
    skipRows,
  })
  return {reader, sniffed: {encoding, how, delimiter, delimiterHow, skipRows}}
}

/** Stated and sniffed options can contradict each other, for example a comment mark that begins with the delimiter. */
const consistent = (options: CsvOptions) => checked({...options, format: 'csv'}) as CsvReader

export const checked = (options: object): Reader => {
  const {data, error} = Reader.safeParse(options)
  if (data) return data
  throw new Refusal(
    'INVALID',
    `The file cannot be read with these options: ${error.issues.map(({message}) => message).join('; ')}. Set other reader options`,
    {issues: error.issues},
  )
}

type NamedEncoding = NamedEncodings & {stated?: string | undefined}

/**
 * Order of precedence: the stated encoding, a byte order mark, the charset of the content type, the template's encoding, zero bytes. The default is
 * UTF-8.
 */
export const sniffEncoding = (sample: Uint8Array, {stated, charset, kept}: NamedEncoding = {}): Pick<CsvSniffed, 'encoding' | 'how'> => {
  const marked = findMarked(sample)
  const explicit = stated === undefined ? null : findEncoding(stated)
  if (explicit) return {encoding: marked && isSameFamily(explicit, marked) ? marked : explicit, how: 'stated'}
  if (marked) return {encoding: marked, how: 'byte order mark'}
  const ofCharset = findOther(charset)
  if (ofCharset) return {encoding: ifFitting(sample, ofCharset), how: 'content type'}
  const ofTemplate = findOther(kept)
  if (ofTemplate) return {encoding: ifFitting(sample, ofTemplate), how: 'template'}
  const wide = sniffWide(sample)
  return wide ? {encoding: wide, how: 'zero bytes'} : {encoding: 'utf-8', how: 'utf-8'}
}

/** Returns null for UTF-8 and unknown labels. Clients name UTF-8 without checking the file, and the bytes show UTF-8 anyway. */
const findOther = (label: string | undefined) => {
  const encoding = label === undefined ? null : findEncoding(label)
  return encoding === 'utf-8' ? null : encoding
}

/** Returns UTF-8 instead of UTF-16 or UTF-32 if the sample has no zero byte. Their delimiters and line ends contain zero bytes. */
const ifFitting = (sample: Uint8Array, encoding: string) => (isWide(encoding) && !sample.includes(0) ? 'utf-8' : encoding)

/** Detects UTF-16. In Western text, most two-byte characters have a zero byte, always in the same position. */
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
