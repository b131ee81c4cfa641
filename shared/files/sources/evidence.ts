import type {Db} from '../../../sql/database.ts'
import {type ColumnKey, listNarrowSources, type Source} from '../../../sql/sources.ts'
import type {ExaminedFile} from '../examine.ts'
import type {SniffedFile} from '../new-file.ts'

/** Facts of the last read of the file. Sources that older builds stored lack the optional parts. */
export type SourceEvidence = Omit<ExaminedFile, 'rows' | 'fileColumns' | 'struck'> &
  Partial<Pick<ExaminedFile, 'fileColumns' | 'struck'>> & {sniffed?: SniffedFile}

/** For a file of 16,384 columns, parsing takes tens of milliseconds. */
export const evidenceOf = ({evidence}: Pick<Source, 'evidence'>): SourceEvidence => JSON.parse(evidence)

/** Whether Lading wrote the CSV file, from JSON or the rows of a query. */
export const isConverted = ({sniffed}: Pick<SourceEvidence, 'sniffed'>): boolean => sniffed !== undefined && 'convertedFrom' in sniffed

export type NarrowSource<Key extends ColumnKey> = Omit<Source, 'evidence'> & {
  evidence: Omit<SourceEvidence, 'columns'> & {columns: Pick<SourceEvidence['columns'][number], Key>[]}
}

/** Reads only the given keys of each column, because the whole evidence of a wide file takes long to parse. */
export const readNarrowSources = async <Key extends ColumnKey>(
  db: Db,
  {importNo, keys}: {importNo: number; keys: readonly Key[]},
): Promise<NarrowSource<Key>[]> =>
  (await listNarrowSources(db, {importNo, keys})).map(({evidence, ...source}) => ({...source, evidence: JSON.parse(evidence)}))
