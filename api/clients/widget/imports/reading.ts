import {ApiError} from '../../http.ts'
import type {Reader, Sniffed, SourceColumn} from './import.ts'

const delimiters: Record<string, string> = {',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'vertical bar', ' ': 'space'}
export const nameOfDelimiter = (delimiter: string): string => delimiters[delimiter] ?? `“${delimiter}”`

/** How a file is read, in a line: "CSV, utf-8, semicolon between cells, header in the first row". */
export const sayReader = (reader: Reader): string => {
  const header = reader.headerRow ? 'first row names the columns' : 'no header row'
  if (reader.format === 'xlsx') return `Workbook, sheet “${reader.sheet}”${reader.range ? `, range ${reader.range}` : ''}, ${header}`
  const skipped = reader.skipRows > 0 ? `, ${reader.skipRows} line${reader.skipRows === 1 ? '' : 's'} left out above` : ''
  return `CSV, ${reader.encoding}, ${nameOfDelimiter(reader.delimiter)} between cells, ${header}${skipped}`
}

const encodingReasons: Record<string, string> = {
  stated: 'as you said',
  'content type': 'the file was sent with it',
  template: 'the template says so',
  'byte order mark': 'the file begins with a mark that says so',
  'utf-8': 'its bytes are valid UTF-8',
  ascii: 'it has plain letters only',
  'zero bytes': 'two bytes stand for each character',
  fallback: 'a proposal, because the file does not show its encoding',
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
  stated: 'as you said',
  'sep line': 'a line of the file says so',
  counted: 'it parts most rows into the same number of cells',
  'single column': 'no character parts the rows evenly',
}
const sheetReasons: Record<string, string> = {
  stated: 'as you said',
  only: 'the workbook has no other',
  'first visible': 'it is the first one that is not hidden',
  'first with rows': 'it is the first visible one that has rows',
}

/** Why a file is read as it is, one reason for each thing that was found out. */
export const sayReasons = (sniffed: Sniffed | undefined): string[] => {
  if (!sniffed) return []
  if ('sheets' in sniffed) return [`Sheet “${sniffed.sheet}”: ${sheetReasons[sniffed.how] ?? sniffed.how}`]
  return [
    `Encoding ${sniffed.encoding}: ${encodingReasons[sniffed.how] ?? sniffed.how}`,
    `Delimiter ${nameOfDelimiter(sniffed.delimiter)}: ${delimiterReasons[sniffed.delimiterHow] ?? sniffed.delimiterHow}`,
  ]
}

export const sheetsOf = (sniffed: Sniffed | undefined): {name: string; state: string}[] =>
  sniffed && 'sheets' in sniffed ? sniffed.sheets : []

/** The sheets that a refusal names. */
export const sheetsIn = (error: unknown): {name: string; state: string}[] =>
  error instanceof ApiError && Array.isArray(error.body?.sheets) ? error.body.sheets : []

const kindNames: Record<string, [one: string, many: string]> = {
  integer: ['whole number', 'whole numbers'],
  decimal: ['number', 'numbers'],
  boolean: ['yes or no', 'yes or no'],
  date: ['date', 'dates'],
  email: ['e-mail address', 'e-mail addresses'],
  url: ['web address', 'web addresses'],
  phone: ['phone number', 'phone numbers'],
  text: ['text', 'text'],
}
export const nameOfKind = (kind: string, count = 2): string => kindNames[kind]?.[count === 1 ? 0 : 1] ?? kind

/** The kinds of a column's values, the most frequent first. */
export const kindsOf = ({kinds}: Pick<SourceColumn, 'kinds'>): {kind: string; count: number}[] =>
  Object.entries(kinds)
    .map(([kind, count]) => ({kind, count}))
    .toSorted((a, b) => b.count - a.count)

type Order = 'dmy' | 'mdy' | 'ymd'

/** The day a cell such as `03/04/2024` is in this order, as `2024-04-03`; null where it is none. */
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
