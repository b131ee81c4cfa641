import type {TextEvidence} from '../examine.ts'
import type {SniffedFile} from '../new-file.ts'
import {Reader} from '../reader.ts'
import type {CsvSniffed} from './sniff.ts'

/** Files that older builds read have no `text`. */
export type TextFacts = {reader: unknown; sniffed?: SniffedFile | undefined; text?: TextEvidence | undefined}

/**
 * A problem that blocks runs. `encoding`: a user must choose the encoding. `undecodable`: a user must accept bytes that are invalid in the encoding.
 */
export type TextProblem = {kind: 'encoding' | 'undecodable'; column: null; message: string; fix: string}

export const textProblems = (facts: TextFacts): TextProblem[] =>
  [encodingProblem(facts), undecodableProblem(facts)].filter(problem => problem !== null)

/** Whether a user must still choose the encoding: the bytes do not prove one, and the reader still has the fallback. */
export const isEncodingOpen = ({reader: stored, sniffed}: TextFacts): boolean => {
  const reader = Reader.parse(stored)
  if (reader.format !== 'csv' || !sniffed || !('encoding' in sniffed)) return false
  return sniffed.how === 'fallback' && sniffed.encoding === reader.encoding
}

const encodingProblem = (facts: TextFacts): TextProblem | null => {
  if (!isEncodingOpen(facts)) return null
  const {encoding} = facts.sniffed as CsvSniffed
  const names = (facts.text?.candidates ?? []).map(one => one.encoding).filter(name => name !== encoding)
  return {
    kind: 'encoding',
    column: null,
    message: `The encoding of the file cannot be determined from its bytes. It is shown as ${encoding} for now`,
    fix: `Choose the encoding that displays the text correctly: set reader {"encoding": "${encoding}"}${names.length > 0 ? `, or ${names.slice(0, 4).join(', ')}` : ''}`,
  }
}

const undecodableProblem = ({reader: stored, text}: TextFacts): TextProblem | null => {
  const reader = Reader.parse(stored)
  if (reader.format !== 'csv' || reader.badBytes || !text?.bad) return null
  const {places, rows, firstRows, header} = text.bad
  const named = `${firstRows.map(row => row.toLocaleString('en')).join(', ')}${rows > firstRows.length ? ' and more' : ''}`
  const where = [
    header && 'the header',
    rows > 0 && (rows === 1 ? `row ${named}` : `${rows.toLocaleString('en')} rows: ${named}`),
    !header && rows === 0 && 'lines that are not rows',
  ].filter(Boolean)
  return {
    kind: 'undecodable',
    column: null,
    message: `${places === 1 ? 'One place holds bytes that are' : `${places.toLocaleString('en')} places hold bytes that are`} not valid ${reader.encoding}, in ${where.join(' and ')}`,
    fix: 'Send a corrected file, choose another encoding, or accept that each place is read as \ufffd with reader {"badBytes": "replace"}',
  }
}
