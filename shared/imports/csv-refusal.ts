import type {CsvError} from 'csv-parse'
import {Refusal} from '../errors.ts'
import {maxRowCells, maxRowCharacters} from './row.ts'
import {TextFault} from './text.ts'

/** `row` is 0 in the header; `line` is where the record begins, from 1, as a text editor counts. */
export type Place = {row: number; line?: number}

/** What the reader or the parser threw, as a refusal that says where and what to do; other errors go through as they are. */
export const refusalFor = (error: unknown, place: Place) => {
  if (error instanceof TextFault) return textRefusal(error, place)
  const {code} = error as CsvError
  if (code === 'CSV_MAX_RECORD_SIZE') return unreadable(place, 'characters')
  if (code === 'CSV_QUOTE_NOT_CLOSED') {
    return new Refusal(
      'FILE_QUOTE',
      `A quote opened in ${nameOf(place)} is never closed. Close it, or set quote to null if quotes mean nothing in this file`,
      place,
    )
  }
  if (code === 'CSV_INVALID_CLOSING_QUOTE' || code === 'INVALID_OPENING_QUOTE') {
    return new Refusal(
      'FILE_QUOTE',
      `In ${nameOf(place)} a quote stands inside a cell. Double it, or set strictQuotes to false to read it as it stands`,
      place,
    )
  }
  return error
}

export const unreadable = (place: Place, what: 'characters' | 'cells') => {
  const limit = what === 'cells' ? maxRowCells : maxRowCharacters
  const message = `${upper(nameOf(place))} has more than ${limit.toLocaleString('en')} ${what}. Look there for a quote that is not closed, or check the delimiter`
  return new Refusal('UNREADABLE', message, {...place, limit})
}

const textRefusal = ({code, at}: TextFault, place: Place) => {
  const where = `In ${nameOf(place)}`
  const extra = {...place, ...(at.byte !== undefined && {byte: at.byte})}
  if (code === 'FILE_NUL') {
    return new Refusal(
      code,
      `${where} stands a NUL character. The file is not text, or its encoding is another: export it as CSV, or state the encoding`,
      extra,
    )
  }
  if (at.cut)
    return new Refusal(
      code,
      `The file ends in the middle of a character, ${where.toLowerCase()}. It seems cut off: send it again whole`,
      extra,
    )
  return new Refusal(
    code,
    `${where} stand bytes that are not in the file's encoding. State the encoding it was saved in, or save it as UTF-8`,
    extra,
  )
}

const nameOf = ({row, line}: Place) => (row ? `row ${row}` : 'the header') + (line ? ` (line ${line})` : '')
const upper = (text: string) => text[0]!.toUpperCase() + text.slice(1)
