import {ApiError} from '../../http.ts'
import type {Reader, SheetOutline, SniffedReader} from './import.ts'

const delimiters: Record<string, string> = {',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'vertical bar', ' ': 'space'}
export const nameOfDelimiter = (delimiter: string): string => delimiters[delimiter] ?? `“${delimiter}”`

/** Formats the reader options in one line: "CSV, utf-8, semicolon-delimited, header in first row". */
export const sayReader = (reader: Reader): string => {
  const header = reader.headerRow ? 'header in first row' : 'no header row'
  if (reader.format === 'xlsx') return `Workbook, sheet “${reader.sheet}”${reader.range ? `, range ${reader.range}` : ''}, ${header}`
  const skipped = reader.skipRows > 0 ? `, ${reader.skipRows} line${reader.skipRows === 1 ? '' : 's'} skipped above` : ''
  return `CSV, ${reader.encoding}, ${nameOfDelimiter(reader.delimiter)}-delimited, ${header}${skipped}`
}

const encodingReasons: Record<string, string> = {
  stated: 'chosen by you',
  'content type': 'from the content type of the upload',
  template: 'from the template',
  'byte order mark': 'from the byte order mark of the file',
  'utf-8': 'the file is valid UTF-8',
  ascii: 'the file is plain ASCII',
  'zero bytes': 'the file has two bytes per character',
  fallback: 'a guess, because the encoding could not be detected',
}
const encodingNames: Record<string, string> = {
  'utf-8': 'Unicode (UTF-8)',
  'windows-1252': 'Western European (Windows-1252)',
  'iso-8859-15': 'Western European (ISO-8859-15)',
  macintosh: 'Western European (Macintosh)',
  'windows-1250': 'Central European (Windows-1250)',
  'iso-8859-2': 'Central European (ISO-8859-2)',
  'windows-1251': 'Cyrillic (Windows-1251)',
  'iso-8859-5': 'Cyrillic (ISO-8859-5)',
  'koi8-r': 'Cyrillic (KOI8-R)',
  ibm866: 'Cyrillic (DOS 866)',
  'windows-1253': 'Greek (Windows-1253)',
  'iso-8859-7': 'Greek (ISO-8859-7)',
  'windows-1254': 'Turkish (Windows-1254)',
  'windows-1255': 'Hebrew (Windows-1255)',
  'windows-1256': 'Arabic (Windows-1256)',
  'windows-1257': 'Baltic (Windows-1257)',
  'windows-1258': 'Vietnamese (Windows-1258)',
  'windows-874': 'Thai (Windows-874)',
  shift_jis: 'Japanese (Shift JIS)',
  'euc-jp': 'Japanese (EUC-JP)',
  gb18030: 'Chinese, simplified (GBK, GB18030)',
  big5: 'Chinese, traditional (Big5)',
  'euc-kr': 'Korean (EUC-KR)',
}
export const nameOfEncoding = (encoding: string): string => encodingNames[encoding] ?? encoding

const delimiterReasons: Record<string, string> = {
  stated: 'chosen by you',
  'sep line': 'from the sep= line of the file',
  counted: 'it splits most rows into the same number of cells',
  'single column': 'no character splits the rows evenly',
}
const sheetReasons: Record<string, string> = {
  stated: 'chosen by you',
  only: 'the only sheet of the workbook',
  'first visible': 'the first visible sheet',
  'first with rows': 'the first visible sheet with rows',
}

/** Returns the reasons for each detected reader option. */
export const sayReasons = (sniffed: SniffedReader | undefined): string[] => {
  if (!sniffed) return []
  if ('sheets' in sniffed) return [`Sheet “${sniffed.sheet}”: ${sheetReasons[sniffed.how] ?? sniffed.how}`]
  return [
    `Encoding ${sniffed.encoding}: ${encodingReasons[sniffed.how] ?? sniffed.how}`,
    `Delimiter ${nameOfDelimiter(sniffed.delimiter)}: ${delimiterReasons[sniffed.delimiterHow] ?? sniffed.delimiterHow}`,
  ]
}

export const sheetsOf = (sniffed: SniffedReader | undefined): SheetOutline[] => (sniffed && 'sheets' in sniffed ? sniffed.sheets : [])

/** Returns the sheets that an error lists. */
export const sheetsIn = (error: unknown): {name: string; state: string}[] =>
  error instanceof ApiError && Array.isArray(error.body?.sheets) ? error.body.sheets : []

type Order = 'dmy' | 'mdy' | 'ymd'

/** Reads a cell such as `03/04/2024` in the given order, as `2024-04-03`, or returns null. */
export const readDay = (cell: string, order: Order): string | null => {
  const found = /^\s*(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})/.exec(cell)
  if (!found) return null
  const parts = [found[1]!, found[3]!, found[4]!]
  const [day, month, year] = [...'dmy'].map(letter => parts[order.indexOf(letter)]!)
  const full = year!.length <= 2 ? `20${year!.padStart(2, '0')}` : year!
  const iso = `${full.padStart(4, '0')}-${month!.padStart(2, '0')}-${day!.padStart(2, '0')}`
  const made = new Date(`${iso}T00:00:00Z`)
  return Number.isNaN(made.getTime()) || made.toISOString().slice(0, 10) !== iso ? null : iso
}
