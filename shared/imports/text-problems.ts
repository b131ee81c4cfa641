import type {TextEvidence} from './examine.ts'
import type {Sniffed} from './new-file.ts'
import {Reader} from './reader.ts'
import type {CsvSniffed} from './sniff.ts'

/** What is known of a file's text. Files that were read before these things were noted have no `text`. */
export type TextFacts = {reader: unknown; sniffed?: Sniffed | undefined; text?: TextEvidence | undefined}

/** `encoding`: a person chooses it. `undecodable`: bytes that are not in it, which a person accepts or not. Either problem blocks runs until a person resolves it. */
export type TextProblem = {kind: 'encoding' | 'undecodable'; column: null; message: string; fix: string}

export const textProblems = (facts: TextFacts): TextProblem[] =>
  [encodingProblem(facts), undecodableProblem(facts)].filter(problem => problem !== null)

/** Whether a person still has to choose the encoding: the bytes do not show it, and nothing was chosen since. */
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
    message: `The file does not show which encoding it was saved in. It is shown as ${encoding} for now`,
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
    !header && rows === 0 && 'lines that are no rows',
  ].filter(Boolean)
  return {
    kind: 'undecodable',
    column: null,
    message: `${places === 1 ? 'One place holds bytes that are' : `${places.toLocaleString('en')} places hold bytes that are`} not valid ${reader.encoding}, in ${where.join(' and ')}`,
    fix: 'Send a corrected file, choose another encoding, or accept that each place is read as \ufffd with reader {"badBytes": "replace"}',
  }
}
