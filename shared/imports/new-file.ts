import {Refusal} from '../errors.ts'
import type {Storage} from '../storage.ts'
import {openBadBytes} from './bad-bytes.ts'
import {openSurvey, type Survey} from './byte-survey.ts'
import {openCsv} from './csv-file.ts'
import {decideEncoding} from './decide-encoding.ts'
import {isWide} from './encoding.ts'
import {findCandidates} from './encoding-candidates.ts'
import {type Examined, examine} from './examine.ts'
import type {CsvOptions, CsvReader, Reader, ReaderOptions, XlsxOptions} from './reader.ts'
import {type CsvSniffed, checked, type NamedEncodings, resolveReader, sampleBytes} from './sniff.ts'
import type {Sheet} from './xlsx/workbook.ts'
import {openXlsx, type WorkbookLimits} from './xlsx/xlsx-file.ts'

export type FileFormat = 'csv' | 'xlsx'

/** A stored file that was not read before. `reader`: what a person stated; the rest is sniffed from the file. */
export type NewFile = {key: string; format: FileFormat; reader?: ReaderOptions; named?: NamedEncodings}

/** Of a workbook: the sheet that is read, and all there are. `passed`: the first visible sheet, where it has no rows. */
export type XlsxSniffed = {sheet: string; how: 'stated' | 'only' | 'first visible' | 'first with rows'; passed?: string; sheets: Sheet[]}
export type Sniffed = CsvSniffed | XlsxSniffed

export type Findings = Examined & {reader: Reader; sniffed: Sniffed}

type Place = {storage: Storage; limits: WorkbookLimits}

/** Reads the file to its end. A CSV file whose bytes are not all UTF-8 is read once more, for the encodings it may be in. */
export const readNewFile = (place: Place, file: NewFile): Promise<Findings> =>
  file.format === 'csv' ? readText(place, file) : readWorkbook(place, file)

/** Refuses options that are not of the file's format. */
export const assertFormat = (stated: ReaderOptions | undefined, format: FileFormat): void => {
  const other = format === 'csv' ? xlsxOnly : csvOnly
  const wrong = Object.keys(stated ?? {}).filter(key => other.includes(key))
  if (wrong.length || (stated?.format ?? format) !== format)
    throw new Refusal(
      'INVALID',
      `The file is ${format === 'csv' ? 'CSV' : 'a workbook'}, which has no ${wrong.join(', ') || 'such format'}. Leave that out`,
    )
}

const csvOnly = ['encoding', 'badBytes', 'delimiter', 'quote', 'strictQuotes', 'skipRows', 'comment', 'shortRows']
const xlsxOnly = ['sheet', 'range']

/** Where cells have the apostrophes of failed.csv, and nobody said what becomes of them, the sheet is read once more without them. */
const readWorkbook = async ({storage, limits}: Place, {key, reader: options}: NewFile): Promise<Findings> => {
  const stated = (options ?? {}) as XlsxOptions
  const {sheet: name, headerRow = true, range = null} = stated
  const file = await openXlsx({storage, key}, {...stated, sheet: name, headerRow, range}, limits)
  const examined = await examine(file, file)
  const {sheet, sheets, passed, guards} = file
  if (guards.found && stated.apostrophes === undefined)
    return readWorkbook({storage, limits}, {key, format: 'xlsx', reader: {...stated, apostrophes: 'remove'}})
  const how = stated.sheet !== undefined ? 'stated' : sheets.length === 1 ? 'only' : passed === null ? 'first visible' : 'first with rows'
  const reader = checked({...stated, format: 'xlsx', sheet: sheet.name})
  return {reader, sniffed: {sheet: sheet.name, how, ...(passed !== null && {passed}), sheets}, ...examined}
}

type CsvFindings = Examined & {reader: CsvReader; sniffed: CsvSniffed}

const readText = async (place: Place, file: NewFile): Promise<Findings> => {
  const {sample, rest} = await sampleOf(await place.storage.read(file.key))
  const {reader, sniffed} = resolveReader(sample, file.reader as CsvOptions | undefined, file.named)
  const survey = openSurvey()
  async function* surveyed() {
    for await (const chunk of rest) {
      survey.add(chunk)
      yield chunk
    }
  }
  const begun = {reader, sniffed, ...(await readCsv(surveyed(), reader))}
  return settleEncoding(place, {sample, begun, survey: survey.end()}, file)
}

const readCsv = async (bytes: AsyncIterable<Uint8Array>, reader: CsvReader): Promise<Examined> => {
  const bad = openBadBytes()
  const examined = await examine(await openCsv(bytes, reader, bad), null)
  return {...examined, text: {bad: bad.found()}}
}

type Begun = {sample: Uint8Array; begun: CsvFindings; survey: Survey}

/** The encoding by the whole file. Where a person has to choose it, the file is read in the likeliest one. */
const settleEncoding = async ({storage}: Place, {sample, begun, survey}: Begun, {key, reader: stated}: NewFile): Promise<Findings> => {
  const decided = {...begun, sniffed: {...begun.sniffed, ...decideEncoding(begun.sniffed, survey)}}
  const isQuestion = decided.sniffed.how === 'fallback'
  if (!isQuestion && (!begun.text?.bad || isWide(begun.reader.encoding))) return decided
  const declared = begun.sniffed.how === 'utf-8' ? null : begun.sniffed.encoding
  const candidates = await findCandidates(await storage.read(key), survey, declared)
  const encoding = isQuestion ? candidates[0]!.encoding : decided.sniffed.encoding
  if (encoding === begun.reader.encoding) return {...decided, text: {bad: begun.text?.bad ?? null, candidates}}
  const {reader, sniffed} = resolveReader(sample, {...(stated as CsvOptions | undefined), encoding})
  const examined = await readCsv(await storage.read(key), reader)
  return {reader, sniffed: {...sniffed, how: 'fallback'}, ...examined, text: {bad: examined.text?.bad ?? null, candidates}}
}

/** Reads ahead as far as the sniffer needs; `rest` gives the same bytes again and goes on from there. */
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
