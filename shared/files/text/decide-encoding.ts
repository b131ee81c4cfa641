import type {Survey} from './byte-survey.ts'
import {isWide} from './encoding.ts'
import type {CsvSniffed} from './sniff.ts'

type Encoding = Pick<CsvSniffed, 'encoding' | 'how'>

/** Decides the encoding from all bytes of a file. `begun`: the result of `sniffEncoding`, which knows only the first bytes. */
export const decideEncoding = (begun: Encoding, survey: Survey): Encoding => {
  const {valid, invalid, cutBytes} = survey
  const isNamed = begun.how === 'content type' || begun.how === 'template'
  if (isNamed && isWide(begun.encoding)) return begun
  if (!isNamed && begun.how !== 'utf-8') return begun
  if (valid + invalid + cutBytes === 0) return isNamed ? begun : {encoding: 'utf-8', how: 'ascii'}
  if (isNamed) return isContradicted(begun, survey) ? question : begun
  return isMostlyUtf8(survey) ? begun : question
}

/** The result if a user must choose the encoding. The caller replaces `utf-8` by the most likely candidate. */
const question: Encoding = {encoding: 'utf-8', how: 'fallback'}

/**
 * Text in another encoding is almost never valid UTF-8 by chance, so a few invalid places do not exclude UTF-8. A single byte beyond ASCII at the end
 * of the file is not enough.
 */
const isMostlyUtf8 = ({valid, invalid, cutBytes}: Survey) => valid >= invalid && (invalid > 0 || valid > 0 || cutBytes !== 1)

/**
 * A file whose bytes beyond ASCII are all valid UTF-8 was not saved in the named encoding. `encoding` is `utf-8` if UTF-16 or UTF-32 was named but
 * the first bytes have no zero byte.
 */
const isContradicted = ({encoding}: Encoding, {valid, invalid, cutBytes}: Survey) =>
  encoding === 'utf-8' || (valid > 0 && invalid + cutBytes === 0)
