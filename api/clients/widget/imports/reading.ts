import {ApiError} from '../../http.ts'
import {t} from '../text/reading.ts'
import type {Reader, SheetOutline, SniffedReader} from './import.ts'

const delimiters: Record<string, string> = {',': t.comma, ';': t.semicolon, '\t': t.tab, '|': t.verticalBar, ' ': t.space}
export const nameOfDelimiter = (delimiter: string): string => delimiters[delimiter] ?? t.quoted(delimiter)

/** Formats the reader options in one line: "CSV, utf-8, semicolon-delimited, header in first row". */
export const sayReader = (reader: Reader): string => {
  const header = reader.headerRow ? t.headerInFirstRow : t.noHeaderRow
  if (reader.format === 'xlsx') return t.workbookSheet(reader.sheet, reader.range ? t.ofRange(reader.range) : '', header)
  const skipped = reader.skipRows > 0 ? t.linesSkippedAbove(reader.skipRows) : ''
  return t.csvDelimited(reader.encoding, nameOfDelimiter(reader.delimiter), header, skipped)
}

const encodingReasons: Record<string, string> = {
  stated: t.chosenByYou,
  'content type': t.fromTheContentTypeOfTheUpload,
  template: t.fromTheTemplate,
  'byte order mark': t.fromTheByteOrderMarkOfThe,
  'utf-8': t.validUtf8,
  ascii: t.theFileIsPlainAscii,
  'zero bytes': t.theFileHasTwoBytesPerCharacter,
  fallback: t.aGuessBecauseTheEncodingCouldNot,
}
const encodingNames: Record<string, string> = {
  'utf-8': t.encodingUtf8,
  'windows-1252': t.encodingWindows1252,
  'iso-8859-15': t.encodingIso885915,
  macintosh: t.encodingMacintosh,
  'windows-1250': t.encodingWindows1250,
  'iso-8859-2': t.encodingIso88592,
  'windows-1251': t.encodingWindows1251,
  'iso-8859-5': t.encodingIso88595,
  'koi8-r': t.encodingKoi8R,
  ibm866: t.encodingIbm866,
  'windows-1253': t.encodingWindows1253,
  'iso-8859-7': t.encodingIso88597,
  'windows-1254': t.encodingWindows1254,
  'windows-1255': t.encodingWindows1255,
  'windows-1256': t.encodingWindows1256,
  'windows-1257': t.encodingWindows1257,
  'windows-1258': t.encodingWindows1258,
  'windows-874': t.encodingWindows874,
  shift_jis: t.encodingShiftJis,
  'euc-jp': t.encodingEucJp,
  gb18030: t.encodingGb18030,
  big5: t.encodingBig5,
  'euc-kr': t.encodingEucKr,
}
export const nameOfEncoding = (encoding: string): string => encodingNames[encoding] ?? encoding

const delimiterReasons: Record<string, string> = {
  stated: t.chosenByYou,
  'sep line': t.fromTheSepLineOfTheFile,
  counted: t.itSplitsMostRowsIntoTheSame,
  'single column': t.noCharacterSplitsTheRowsEvenly,
}
const sheetReasons: Record<string, string> = {
  stated: t.chosenByYou,
  only: t.theOnlySheetOfTheWorkbook,
  'first visible': t.theFirstVisibleSheet,
  'first with rows': t.theFirstVisibleSheetWithRows,
}

/** Returns why the encoding and the delimiter, or the sheet of a workbook, were chosen. Empty if this is not known. */
export const sayReasons = (sniffed: SniffedReader | undefined): string[] => {
  if (!sniffed) return []
  if ('sheets' in sniffed) return [t.sheetBecause(sniffed.sheet, sheetReasons[sniffed.how] ?? sniffed.how)]
  return [
    t.encodingBecause(sniffed.encoding, encodingReasons[sniffed.how] ?? sniffed.how),
    t.delimiterBecause(nameOfDelimiter(sniffed.delimiter), delimiterReasons[sniffed.delimiterHow] ?? sniffed.delimiterHow),
  ]
}

export const sheetsOf = (sniffed: SniffedReader | undefined): SheetOutline[] => (sniffed && 'sheets' in sniffed ? sniffed.sheets : [])

/** Returns the sheets that an API error lists, or an empty list. */
export const sheetsIn = (error: unknown): {name: string; state: string}[] =>
  error instanceof ApiError && Array.isArray(error.body?.sheets) ? error.body.sheets : []
