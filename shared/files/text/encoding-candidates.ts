import {analyse} from 'chardet'
import type {Survey} from './byte-survey.ts'
import {badPlace, openDecoder} from './decoder.ts'
import {findEncoding} from './encoding.ts'

/** `samples`: some cells of the file, decoded in this encoding. */
export type EncodingCandidate = {encoding: string; samples: string[]}

/** Single-byte encodings, in the order in which they are offered if the bytes do not distinguish them. */
const singleByte = [
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'iso-8859-15',
  'iso-8859-2',
  'windows-1254',
  'windows-1253',
  'windows-1257',
  'windows-1255',
  'windows-1256',
  'windows-1258',
  'windows-874',
  'iso-8859-5',
  'iso-8859-7',
  'koi8-r',
  'ibm866',
  'macintosh',
]
const multiByte = ['shift_jis', 'euc-jp', 'gb18030', 'big5', 'euc-kr']

const mostSamples = 5
const sampleCharacters = 60
/** Maximum share of wrong bytes among the bytes beyond ASCII. The share is not 0, because a file may be damaged. */
const mostWrong = 1 / 20

/**
 * Finds the encodings in which the file has almost no errors, most likely first. `declared` is always included. `utf-8` is included if the file has a
 * valid UTF-8 character beyond ASCII, or ends after two or more bytes of one. If nothing fits, returns `windows-1252`.
 */
export const findCandidates = async (
  bytes: AsyncIterable<Uint8Array>,
  survey: Survey,
  declared: string | null,
): Promise<EncodingCandidate[]> => {
  const fitting = await findFitting(bytes)
  const isUtf8Possible = survey.valid > 0 || survey.cutBytes > 1
  const names = new Set([...fitting, ...(declared ? [declared] : []), ...(isUtf8Possible ? ['utf-8'] : [])])
  if (names.size === 0) names.add('windows-1252')
  const ranks = rankByDetector(survey.excerpts)
  // UTF-8 comes first if it has at least as many valid characters as invalid places, else last.
  ranks.set('utf-8', survey.valid >= survey.invalid ? 1_000 : -1)
  return [...names]
    .toSorted((a, b) => (ranks.get(b) ?? 0) - (ranks.get(a) ?? 0))
    .map(encoding => ({encoding, samples: samplesOf(survey.excerpts, encoding)}))
}

const samplesOf = (excerpts: Buffer[], encoding: string): string[] =>
  excerpts.slice(0, mostSamples).map(excerpt => {
    const decoder = openDecoder(encoding)
    const text = `${decoder.decode(excerpt).text}${excerpt.length < 100 ? decoder.end().text : ''}`.replaceAll(badPlace, '\ufffd').trim()
    return [...text].slice(0, sampleCharacters).join('')
  })

/** Ranks encodings by the detector's confidence. The ranks only order the list from which a user chooses. */
const rankByDetector = (excerpts: Buffer[]): Map<string, number> => {
  const ranks = new Map<string, number>()
  const sample = Buffer.concat(excerpts.flatMap(excerpt => [excerpt, Buffer.from('\n')]))
  const isWestern = excerpts.every(isSingleLetters)
  for (const {name, confidence} of analyse(sample)) {
    const encoding = findEncoding(name)
    if (encoding === null || (isWestern && multiByte.includes(encoding))) continue
    ranks.set(encoding, Math.max(confidence, ranks.get(encoding) ?? 0))
  }
  return ranks
}

/**
 * Whether every byte beyond ASCII has only ASCII letters, digits or blanks next to it, as in Western text. Two-byte characters usually fail this
 * test.
 */
const isSingleLetters = (excerpt: Buffer) =>
  !/[\x80-\xff]{2}|[\x80-\xff][^\w\s]|[\x80-\xff]_|[^\w\s][\x80-\xff]/.test(excerpt.toString('latin1'))

const findFitting = async (bytes: AsyncIterable<Uint8Array>): Promise<string[]> => {
  const counts = new Float64Array(256)
  const attempts = multiByte.map(openAttempt)
  let beyondAscii = 0
  for await (const chunk of bytes) {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (const byte of piece) {
      if (byte < 0x80) continue
      counts[byte]!++
      beyondAscii++
    }
    for (const attempt of attempts) attempt.add(piece, beyondAscii)
  }
  const fits = (wrong: number) => wrong <= beyondAscii * mostWrong
  return [
    ...singleByte.filter(encoding => fits(countWrong(encoding, counts))),
    ...attempts.filter(({end}) => fits(end())).map(({encoding}) => encoding),
  ]
}

/** Counts the bytes that a single-byte encoding leaves undefined, or decodes to control or private-use characters. */
const countWrong = (encoding: string, counts: Float64Array) => {
  let wrong = 0
  for (let byte = 0x80; byte < 256; byte++) {
    if (
      counts[byte]! > 0 &&
      wrongIn(
        openDecoder(encoding)
          .decode(Buffer.from([byte]))
          .text.toString(),
      ) > 0
    )
      wrong += counts[byte]!
  }
  return wrong
}

const wrongIn = (text: string) => text.match(/[\u0080-\u009f\ue000-\uf8ff\ufdd0]/g)?.length ?? 0

const openAttempt = (encoding: string) => {
  const decoder = openDecoder(encoding)
  let [wrong, isGivenUp] = [0, false]
  return {
    encoding,
    add(piece: Buffer, beyondAscii: number) {
      if (isGivenUp) return
      wrong += wrongIn(decoder.decode(piece).text.toString())
      isGivenUp = wrong > 1_000 && wrong > 2 * mostWrong * beyondAscii
    },
    end: () => (isGivenUp ? Infinity : wrong + decoder.end().bad),
  }
}
