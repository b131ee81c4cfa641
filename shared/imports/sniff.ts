import {Refusal} from '../errors.ts'
import {scoreDelimiters} from './delimiter.ts'
import {findEncoding, findMarked, isSameFamily, isWide} from './encoding.ts'
import {hasGuards} from './formula-guard.ts'
import {type CsvOptions, type CsvReader, Reader} from './reader.ts'
import {decodeSample} from './text.ts'

export const sampleBytes = 65_536

/** What was made of the file, and why; the interface shows it so that a person can overrule it. */
export type CsvSniffed = {
  encoding: string
  /**
   * `stated`: by a person or a program, for this file. `content type`: the charset it was sent with. `template`: kept in the template.
   * `ascii`: nothing beyond ASCII. `fallback`: the bytes do not show the encoding, so a person must choose it; until then it is a proposal.
   */
  how: 'stated' | 'content type' | 'template' | 'byte order mark' | 'utf-8' | 'ascii' | 'zero bytes' | 'fallback'
  delimiter: string
  delimiterHow: 'stated' | 'sep line' | 'counted' | 'single column'
  skipRows: number
}

/** Encodings that were named for a file otherwise than by its reader options. */
export type NamedEncodings = {charset?: string | undefined; kept?: string | undefined}

/**
 * The reader to begin with: what is stated holds, the rest is sniffed from the file's first bytes (64 KiB are enough). An encoding that is
 * not stated, named or shown by these bytes is taken for UTF-8 until the whole file is read.
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
  // A long failed.csv without such cells in its sample begins with a sep line.
  const isGuarded = hasGuards(text, delimiter) || (separator === ',' && sample.length >= sampleBytes)
  const reader = consistent({
    ...(isGuarded && {apostrophes: 'remove'}),
    ...others,
    ...(badBytes && {badBytes}),
    encoding,
    delimiter,
    skipRows,
  })
  return {reader, sniffed: {encoding, how, delimiter, delimiterHow, skipRows}}
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

type Named = NamedEncodings & {stated?: string | undefined}

/** What is stated decides; then a byte order mark, the charset the file was sent with, what a template keeps, and zero bytes. Else UTF-8. */
export const sniffEncoding = (sample: Uint8Array, {stated, charset, kept}: Named = {}): Pick<CsvSniffed, 'encoding' | 'how'> => {
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

/** UTF-8 shows itself in the bytes, so that naming it says nothing more; clients name it for files that they have not looked at. */
const findOther = (label: string | undefined) => {
  const encoding = label === undefined ? null : findEncoding(label)
  return encoding === 'utf-8' ? null : encoding
}

/** UTF-16 and UTF-32 have zero bytes at least in delimiters and line ends. Without any, the file is none of them: it is taken for UTF-8. */
const ifFitting = (sample: Uint8Array, encoding: string) => (isWide(encoding) && !sample.includes(0) ? 'utf-8' : encoding)

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
