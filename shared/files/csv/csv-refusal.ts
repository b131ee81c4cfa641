import type {CsvError} from 'csv-parse'
import {Refusal} from '../../errors.ts'
import {maxRowCells, maxRowCharacters} from '../row.ts'
import {TextFault} from '../text/text.ts'

/** `row` is 0 in the header. `line`: the line where the record begins, counted from 1 as in a text editor. */
export type CsvPosition = {row: number; line?: number}

/** Converts a decoder or parser error into a refusal that says where the error is and what to do. Returns other errors unchanged. */
export const refusalFor = (error: unknown, csvPosition: CsvPosition) => {
  if (error instanceof TextFault) return textRefusal(error, csvPosition)
  const {code} = error as CsvError
  if (code === 'CSV_MAX_RECORD_SIZE') return unreadable(csvPosition, 'characters')
  if (code === 'CSV_QUOTE_NOT_CLOSED') {
    return new Refusal(
      'FILE_QUOTE',
      `A quote opened in ${nameOf(csvPosition)} is never closed. Close it, or set quote to null if quotes mean nothing in this file`,
      csvPosition,
    )
  }
  if (code === 'CSV_INVALID_CLOSING_QUOTE' || code === 'INVALID_OPENING_QUOTE') {
    return new Refusal(
      'FILE_QUOTE',
      `${upper(nameOf(csvPosition))} has a quote inside a cell. Double it, or set strictQuotes to false to read it as text`,
      csvPosition,
    )
  }
  return error
}

export const unreadable = (csvPosition: CsvPosition, what: 'characters' | 'cells') => {
  const limit = what === 'cells' ? maxRowCells : maxRowCharacters
  const message = `${upper(nameOf(csvPosition))} has more than ${limit.toLocaleString('en')} ${what}. Look there for an unclosed quote, or check the delimiter`
  return new Refusal('UNREADABLE', message, {...csvPosition, limit})
}

const textRefusal = ({code, at}: TextFault, csvPosition: CsvPosition) => {
  const where = `In ${nameOf(csvPosition)}`
  const extra = {...csvPosition, ...(at.byte !== undefined && {byte: at.byte})}
  if (code === 'FILE_NUL') {
    return new Refusal(
      code,
      `${where} there is a NUL character. The file is not text, or it has another encoding. Export it as CSV, or state the encoding`,
      extra,
    )
  }
  if (at.cut)
    return new Refusal(
      code,
      `The file ends in the middle of a character, ${where.toLowerCase()}. It seems to be cut off. Send the complete file again`,
      extra,
    )
  return new Refusal(
    code,
    `${where} there are bytes that are not valid in the file's encoding. State the encoding it was saved in, or save it as UTF-8`,
    extra,
  )
}

const nameOf = ({row, line}: CsvPosition) => (row ? `row ${row}` : 'the header') + (line ? ` (line ${line})` : '')
const upper = (text: string) => text[0]!.toUpperCase() + text.slice(1)
