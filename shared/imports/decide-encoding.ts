import type {Survey} from './byte-survey.ts'
import {isWide} from './encoding.ts'
import type {CsvSniffed} from './sniff.ts'

type Encoding = Pick<CsvSniffed, 'encoding' | 'how'>

/** The encoding of a file by all of its bytes. `begun`: what its first bytes and its sender said. */
export const decideEncoding = (begun: Encoding, survey: Survey): Encoding => {
  const {valid, invalid, cutBytes} = survey
  const isNamed = begun.how === 'content type' || begun.how === 'template'
  if (isNamed && isWide(begun.encoding)) return begun
  if (!isNamed && begun.how !== 'utf-8') return begun
  if (valid + invalid + cutBytes === 0) return isNamed ? begun : {encoding: 'utf-8', how: 'ascii'}
  if (isNamed) return isContradicted(begun, survey) ? question : begun
  return isMostlyUtf8(survey) ? begun : question
}

/** The caller puts the likeliest candidate in place of the encoding. */
const question: Encoding = {encoding: 'utf-8', how: 'fallback'}

/** Text in another encoding is hardly ever UTF-8 by chance, so UTF-8 explains a file better than a few damaged bytes speak against it. */
const isMostlyUtf8 = ({valid, invalid, cutBytes}: Survey) => valid >= invalid && (invalid > 0 || valid > 0 || cutBytes !== 1)

/**
 * Whether the bytes speak against the encoding that a header or a template names: a file that is UTF-8 from end to end was not saved in
 * another, and one that was begun as UTF-8 has not the zero bytes of the UTF-16 or UTF-32 that was named.
 */
const isContradicted = ({encoding}: Encoding, {valid, invalid, cutBytes}: Survey) =>
  encoding === 'utf-8' || (valid > 0 && invalid + cutBytes === 0)
