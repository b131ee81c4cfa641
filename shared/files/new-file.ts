import {Refusal} from '../errors.ts'
import {isGuarded} from '../runs/results/formula-guard.ts'
import {type FailedRowsOrigin, findOrigin, findOriginIn, isFailedFile, rangeWithoutReasons} from '../runs/results/reason-columns.ts'
import type {Storage} from '../storage/storage.ts'
import {openCsv} from './csv/csv-file.ts'
import {type ExaminedFile, examine} from './examine.ts'
import {convertedReader, convertJson} from './json/json-to-csv.ts'
import {
  type CsvOptions,
  type CsvReader,
  dropUnusedDecimals,
  dropUnusedOpenQuotes,
  type Reader,
  type ReaderOptions,
  withDecimals,
  type XlsxOptions,
} from './reader.ts'
import {openBadBytes} from './text/bad-bytes.ts'
import {openSurvey, type Survey} from './text/byte-survey.ts'
import {decideEncoding} from './text/decide-encoding.ts'
import {isWide} from './text/encoding.ts'
import {findCandidates} from './text/encoding-candidates.ts'
import {type ConvertedFrom, type CsvSniffed, checked, type NamedEncodings, resolveReader, sampleBytes} from './text/sniff.ts'
import {decodeSample} from './text/text.ts'
import {type CountedSheet, countRowsOfOthers} from './xlsx/count-rows.ts'
import {openXlsx, type WorkbookLimits} from './xlsx/xlsx-file.ts'

export type FileFormat = 'csv' | 'xlsx'

/**
 * A stored file that is read for the first time. `convertedFrom`: `json` is JSON with records, to be converted to CSV; `query` is a CSV file that
 * Lading wrote from the rows of a query. `reader`: the options that the caller stated; the other options are sniffed from the file. They do not
 * apply to a converted file.
 */
export type NewFile = {key: string; format: FileFormat; convertedFrom?: ConvertedFrom; reader?: ReaderOptions; named?: NamedEncodings}

/** `how`: why `sheet` is read. `passed`: the first visible sheet, if it was skipped because it has no rows. */
export type XlsxSniffed = {
  sheet: string
  how: 'stated' | 'only' | 'first visible' | 'first with rows'
  passed?: string
  sheets: CountedSheet[]
}
export type SniffedFile = CsvSniffed | XlsxSniffed

/** `corrects`: the run and the source whose failed rows the file contains, if the file is a failed.csv that names them. */
export type FileFindings = ExaminedFile & {reader: Reader; sniffed: SniffedFile; corrects?: FailedRowsOrigin | undefined}

type NewFileDeps = {storage: Storage; limits: WorkbookLimits}

/**
 * Reads the file to its end. Reads a CSV file again to find candidate encodings if its encoding is uncertain, or if it has invalid bytes and is not
 * in UTF-16 or UTF-32. Reads a CSV file again to remove the apostrophes of a failed.csv or results.csv if they begin after the sample.
 */
export const readNewFile = async (deps: NewFileDeps, file: NewFile): Promise<FileFindings> => {
  if (file.format === 'xlsx') return readWorkbook(deps, file)
  const {key, convertedFrom} = file
  if (!convertedFrom) return readText(deps, file)
  if (convertedFrom === 'json') await convertJson(deps.storage, key)
  const found = await readText(deps, {key, format: 'csv', reader: convertedReader})
  return {...found, sniffed: {...found.sniffed, convertedFrom}}
}

export const assertFormat = (stated: ReaderOptions | undefined, format: FileFormat): void => {
  const other = format === 'csv' ? xlsxOnly : csvOnly
  const wrong = Object.keys(stated ?? {}).filter(key => other.includes(key))
  if (wrong.length || (stated?.format ?? format) !== format)
    throw new Refusal(
      'INVALID',
      `The file is ${format === 'csv' ? 'CSV' : 'a workbook'}, which has no ${wrong.join(', ') || 'such format'}. Leave that option out`,
    )
}

const csvOnly = ['encoding', 'badBytes', 'delimiter', 'quote', 'strictQuotes', 'openQuotes', 'skipRows', 'comment', 'shortRows']
const xlsxOnly = ['decimals', 'sheet', 'range']

/**
 * The workbook may be a failed.csv, the file of a run's failed rows, that was saved as a workbook. A failed.csv begins with a row number and an error
 * column, and has an apostrophe before each cell that a spreadsheet would execute as a formula. If cells have such apostrophes and `apostrophes` is
 * not set, the sheet is read again without them. If it begins with the two columns, it is read again without them, unless a range is stated or
 * `headerRow` is false.
 */
const readWorkbook = async ({storage, limits}: NewFileDeps, {key, reader: options}: NewFile): Promise<FileFindings> => {
  const stated = (options ?? {}) as XlsxOptions
  const {sheet: name, headerRow = true, range = null} = stated
  const asked = withDecimals(stated)
  const file = await openXlsx({storage, key}, {...asked, sheet: name, headerRow, range}, limits)
  const examined = await examine(file, file)
  const {sheet, sheets, passed, guards} = file
  if (guards.found && stated.apostrophes === undefined)
    return readWorkbook({storage, limits}, {key, format: 'xlsx', reader: {...stated, apostrophes: 'remove'}})
  if (isFailedFile(file.columns) && range === null && headerRow) {
    const found = await readWorkbook({storage, limits}, {key, format: 'xlsx', reader: {...stated, range: rangeWithoutReasons}})
    return {...found, corrects: findOrigin(file.columns[0])}
  }
  const how = stated.sheet !== undefined ? 'stated' : sheets.length === 1 ? 'only' : passed === null ? 'first visible' : 'first with rows'
  const reader = checked(dropUnusedDecimals({...asked, format: 'xlsx', sheet: sheet.name}, file))
  const counted = sheets.length > 1 ? await countRowsOfOthers({storage, key}, sheet.name, limits.unpacked) : sheets
  // Without a header row, the first cell of a failed.csv is the first sample of its first column.
  const corrects = headerRow || range !== null ? undefined : findOrigin(examined.columns[0]?.samples[0])
  return {reader, sniffed: {sheet: sheet.name, how, ...(passed !== null && {passed}), sheets: counted}, ...examined, corrects}
}

type ReadCsv = ExaminedFile & {reader: CsvReader}
type CsvFindings = ReadCsv & {sniffed: CsvSniffed}

const readText = async (deps: NewFileDeps, file: NewFile): Promise<FileFindings> => {
  const {sample, rest} = await sampleOf(await deps.storage.read(file.key))
  const stated = {openQuotes: 'refuse', ...file.reader} as CsvOptions
  const {reader, sniffed} = resolveReader(sample, stated, file.named)
  const survey = openSurvey()
  async function* surveyed() {
    for await (const chunk of rest) {
      survey.add(chunk)
      yield chunk
    }
  }
  const guards = {found: false}
  const begun = {sniffed, ...(await readCsv(surveyed(), reader, guards))}
  if (guards.found) return readText(deps, {...file, reader: {...file.reader, apostrophes: 'remove'} as CsvOptions})
  const settled = await settleEncoding(deps, {sample, begun, survey: survey.end()}, {...file, reader: stated})
  const {reasons, encoding, skipRows} = settled.reader
  return reasons === 'keep' ? settled : {...settled, corrects: findOriginIn(decodeSample(sample, encoding), skipRows)}
}

/** Sets `guards.found` if `apostrophes` is not set and a cell has an apostrophe that failed.csv or results.csv puts before a text like a formula. */
const readCsv = async (bytes: AsyncIterable<Uint8Array>, reader: CsvReader, guards = {found: false}): Promise<ReadCsv> => {
  const bad = openBadBytes()
  const {rows, ...table} = await openCsv(bytes, reader, bad)
  async function* watched() {
    for await (const chunk of rows) {
      guards.found ||= reader.apostrophes === undefined && chunk.some(({cells}) => cells.some(isGuarded))
      yield chunk
    }
  }
  const examined = await examine({...table, rows: watched()}, null)
  return {reader: dropUnusedOpenQuotes(reader, table), ...examined, text: {bad: bad.found()}}
}

type StartedReading = {sample: Uint8Array; begun: CsvFindings; survey: Survey}

/** Decides the encoding from the whole file. If a user must choose it, the file is read in the most likely candidate. */
const settleEncoding = async (
  {storage}: NewFileDeps,
  {sample, begun, survey}: StartedReading,
  {key, reader: stated}: NewFile,
): Promise<CsvFindings> => {
  const decided = {...begun, sniffed: {...begun.sniffed, ...decideEncoding(begun.sniffed, survey)}}
  const isQuestion = decided.sniffed.how === 'fallback'
  if (!isQuestion && (!begun.text?.bad || isWide(begun.reader.encoding))) return decided
  const declared = begun.sniffed.how === 'utf-8' ? null : begun.sniffed.encoding
  const candidates = await findCandidates(await storage.read(key), survey, declared)
  const encoding = isQuestion ? candidates[0]!.encoding : decided.sniffed.encoding
  if (encoding === begun.reader.encoding) return {...decided, text: {bad: begun.text?.bad ?? null, candidates}}
  const {reader, sniffed} = resolveReader(sample, {...(stated as CsvOptions | undefined), encoding})
  const examined = await readCsv(await storage.read(key), reader)
  return {sniffed: {...sniffed, how: 'fallback'}, ...examined, text: {bad: examined.text?.bad ?? null, candidates}}
}

/** Reads the first 64 KiB of a file as a sample for the sniffer. `rest` yields all bytes of the file, including the sample. */
export const sampleOf = async (bytes: AsyncIterable<Uint8Array>) => {
  const chunks = bytes[Symbol.asyncIterator]()
  const ahead: Uint8Array[] = []
  let length = 0
  while (length < sampleBytes) {
    const next = await chunks.next()
    if (next.done) break
    ahead.push(next.value)
    length += next.value.length
  }
  async function* rest(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* ahead
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value
    } finally {
      await chunks.return?.()
    }
  }
  return {sample: Buffer.concat(ahead).subarray(0, sampleBytes), rest: rest()}
}
