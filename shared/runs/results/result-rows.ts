import {Refusal} from '../../errors.ts'
import {Reader} from '../../files/reader.ts'
import {type FileDeps, openFile, type StoredFile} from '../../files/stored-file.ts'
import {StorageMissing} from '../../storage/missing.ts'
import {writeFailed} from './failed-csv.ts'
import type {FailedRowsOrigin} from './reason-columns.ts'
import {type ResultsPart, writeResults} from './results-csv.ts'
import type {ResultModule, RowOutcome} from './row-result.ts'

type ResultRowsInput = {source: StoredFile; part?: ResultsPart | undefined; modules: ResultModule[]}
type FailedRowsInput = Omit<ResultRowsInput, 'part'> & {origin: FailedRowsOrigin}

/**
 * Yields `results.csv` of a source, made from the outcomes of its rows. At the end, returns the first row of the next part; null unless this
 * part was cut at the size limit.
 */
export async function* resultRows(
  deps: FileDeps,
  {source, part, modules}: ResultRowsInput,
  outcomes: AsyncIterable<RowOutcome[]>,
): AsyncGenerator<Uint8Array, number | null, undefined> {
  let next: number | null = null
  const onNext = (row: number) => {
    next = row
  }
  yield* writeOverFile(deps, source, file => writeResults({...file, outcomes, modules, part, onNext}))
  return next
}

export async function* failedRows(
  deps: FileDeps,
  {source, modules, origin}: FailedRowsInput,
  outcomes: AsyncIterable<RowOutcome[]>,
): AsyncGenerator<Uint8Array, number | null, undefined> {
  const reader = Reader.parse(source.reader)
  const delimiter = reader.format === 'csv' ? reader.delimiter : ','
  yield* writeOverFile(deps, source, file => writeFailed({...file, outcomes, modules, delimiter, origin}))
  return null
}

type File = {columns: string[]; rows: Awaited<ReturnType<typeof openFile>>['rows']}

/**
 * Writes an output file while reading the source as the run read it, with the reader and the cleaning of the snapshot. Throws FILE_GONE if
 * the source is no longer in storage.
 */
async function* writeOverFile(deps: FileDeps, source: StoredFile, write: (file: File) => AsyncGenerator<Buffer>) {
  try {
    const {fileColumns, rows} = await openFile(deps, source)
    yield* write({columns: fileColumns, rows})
  } catch (error) {
    if (error instanceof StorageMissing) throw new Refusal('FILE_GONE', 'The file of this run is no longer in storage')
    throw error
  }
}
