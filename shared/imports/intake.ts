import {createHash, type Hash} from 'node:crypto'
import {once} from 'node:events'
import {PassThrough, Readable} from 'node:stream'
import {Refusal} from '../errors.ts'
import type {Storage} from '../storage.ts'
import {openBadBytes} from './bad-bytes.ts'
import {openSurvey, type Survey} from './byte-survey.ts'
import {openCsv} from './csv-file.ts'
import {decideEncoding} from './decide-encoding.ts'
import {isWide} from './encoding.ts'
import {findCandidates} from './encoding-candidates.ts'
import {type Examined, examine} from './examine.ts'
import {formatOf} from './magic.ts'
import {assertTable} from './not-a-table.ts'
import type {CsvOptions, CsvReader, Reader, ReaderOptions, XlsxOptions} from './reader.ts'
import {type CsvSniffed, checked, type NamedEncodings, resolveReader, sampleBytes} from './sniff.ts'
import type {Sheet} from './xlsx/workbook.ts'
import {openXlsx, type WorkbookLimits} from './xlsx/xlsx-file.ts'

export type Upload = {
  /** On a refusal a Readable is left open and drained, not destroyed, so that an HTTP answer can still go out on its connection. */
  body: Readable | AsyncIterable<Uint8Array>
  /** What a person stated; the rest is sniffed from the file. */
  reader?: ReaderOptions
  named?: NamedEncodings
  maxBytes: number
  storage: Storage
  key: string
  workbook: WorkbookLimits
}

/** Of a workbook: the sheet that is read, and all there are. `passed`: the first visible sheet, where it has no rows. */
export type XlsxSniffed = {sheet: string; how: 'stated' | 'only' | 'first visible' | 'first with rows'; passed?: string; sheets: Sheet[]}
export type Sniffed = CsvSniffed | XlsxSniffed

type Findings = Examined & {reader: Reader; sniffed: Sniffed}
type Intake = Findings & {bytes: number; sha256: string}

/**
 * A CSV file in one pass: every chunk goes to storage, hash, reader and evidence before the next is asked for, and the object appears under its
 * key only when the file was read to its end without a refusal. A workbook is stored first, as its parts are read in an order of their own.
 * A CSV file whose bytes are not all UTF-8 is read once more from storage, for the encodings it may be in.
 * Whatever fails, and when the client goes away (`UPLOAD_BROKEN`), nothing is left.
 */
export const takeIn = async (upload: Upload): Promise<Intake> => {
  const {body, storage, key} = upload
  const shelf = openShelf(storage, key)
  const count: Count = {bytes: 0, hash: createHash('sha256')}
  const chunks = copied(upload, count, shelf.keep)
  try {
    const {sample, rest} = await sampleOf(chunks)
    const format = formatOf(sample)
    if (format === 'csv') assertTable(sample)
    assertFormat(upload.reader, format)
    const begun = await (format === 'csv' ? readThrough(sample, rest, upload) : drain(rest))
    await shelf.close()
    const findings = begun ? await settleEncoding(sample, begun, upload) : await readWorkbook(upload)
    return {...findings, bytes: count.bytes, sha256: count.hash.digest('hex')}
  } catch (error) {
    await shelf.abandon(error as Error)
    // Where the storage fails here too, the listing finds what is left.
    await storage.remove(key).catch(() => {})
    await chunks.return()
    if (body instanceof Readable) body.resume()
    throw error
  }
}

/** One object being put, chunk by chunk; `keep` waits where storage is slower than the sender and throws what storage threw. */
const openShelf = (storage: Storage, key: string) => {
  // Failures are met where they are awaited; the listeners only keep the process alive until then.
  const stream = new PassThrough().on('error', () => {})
  const kept = storage.put(key, stream)
  const broken = new AbortController()
  kept.catch(() => broken.abort())
  return {
    keep: async (chunk: Uint8Array) => {
      if (broken.signal.aborted || !stream.write(chunk)) await once(stream, 'drain', {signal: broken.signal}).catch(() => kept)
    },
    close: async () => {
      stream.end()
      await kept
    },
    abandon: async (error: Error) => {
      stream.destroy(error)
      await kept.catch(() => {})
    },
  }
}

type Count = {bytes: number; hash: Hash}
type Keep = (chunk: Uint8Array) => Promise<void>

/** Passes the body on, chunk by chunk, once storage has taken it. */
async function* copied({body, maxBytes}: Upload, count: Count, keep: Keep): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body instanceof Readable ? body.iterator({destroyOnReturn: false}) : body
  for await (const chunk of unbroken(chunks, count)) {
    count.bytes += chunk.length
    if (count.bytes > maxBytes) throw tooLarge(maxBytes)
    count.hash.update(chunk)
    await keep(chunk)
    yield chunk
  }
}

async function* unbroken(chunks: AsyncIterable<Uint8Array>, count: Count) {
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next().catch(error => {
        if (error instanceof Refusal && error.code !== 'UPLOAD_BROKEN') throw error
        throw new Refusal('UPLOAD_BROKEN', `The upload broke off after ${count.bytes} bytes. Nothing was kept: send the file again`, {
          bytes: count.bytes,
        })
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}

export const tooLarge = (limit: number) =>
  new Refusal(
    'FILE_TOO_LARGE',
    `The file is larger than the ${limit.toLocaleString('en')} bytes a file may have. Split it and send the parts`,
    {limit},
  )

const assertFormat = (stated: ReaderOptions | undefined, format: 'csv' | 'xlsx') => {
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

const drain = async (chunks: AsyncIterable<Uint8Array>) => {
  for await (const _ of chunks);
}

const readWorkbook = async ({storage, key, reader: options, workbook: limits}: Upload): Promise<Findings> => {
  const stated = (options ?? {}) as XlsxOptions
  const {sheet: name, headerRow = true, range = null} = stated
  const file = await openXlsx({storage, key}, {sheet: name, headerRow, range}, limits)
  const {sheet, sheets, passed} = file
  const how = stated.sheet !== undefined ? 'stated' : sheets.length === 1 ? 'only' : passed === null ? 'first visible' : 'first with rows'
  const reader = checked({...stated, format: 'xlsx', sheet: sheet.name})
  return {reader, sniffed: {sheet: sheet.name, how, ...(passed !== null && {passed}), sheets}, ...(await examine(file, file))}
}

type CsvFindings = Omit<Findings, 'reader' | 'sniffed'> & {reader: CsvReader; sniffed: CsvSniffed}

const readThrough = async (
  sample: Uint8Array,
  chunks: AsyncIterable<Uint8Array>,
  {reader: stated, named}: Pick<Upload, 'reader' | 'named'>,
): Promise<CsvFindings & {survey: Survey}> => {
  const {reader, sniffed} = resolveReader(sample, stated as CsvOptions | undefined, named)
  const survey = openSurvey()
  async function* surveyed() {
    for await (const chunk of chunks) {
      survey.add(chunk)
      yield chunk
    }
  }
  return {reader, sniffed, ...(await readCsv(surveyed(), reader)), survey: survey.end()}
}

const readCsv = async (bytes: AsyncIterable<Uint8Array>, reader: CsvReader): Promise<Examined> => {
  const bad = openBadBytes()
  const examined = await examine(await openCsv(bytes, reader, bad), null)
  return {...examined, text: {bad: bad.found()}}
}

/** The encoding by the whole file, which is stored by now. Where a person has to choose it, the file is read in the likeliest one. */
const settleEncoding = async (
  sample: Uint8Array,
  {survey, ...begun}: CsvFindings & {survey: Survey},
  upload: Upload,
): Promise<Findings> => {
  const {storage, key, reader: stated} = upload
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
const sampleOf = async (chunks: AsyncGenerator<Uint8Array, void, undefined>) => {
  const ahead: Uint8Array[] = []
  let length = 0
  while (length < sampleBytes) {
    const next = await chunks.next()
    if (next.done) break
    ahead.push(next.value)
    length += next.value.length
  }
  async function* rest() {
    yield* ahead
    yield* chunks
  }
  return {sample: Buffer.concat(ahead).subarray(0, sampleBytes), rest: rest()}
}
