import type {HeaderProposal} from './csv/header-row.ts'
import {type ColumnEvidence, type Evidence, openEvidence} from './evidence.ts'
import type {Table} from './row.ts'
import type {BadBytesFound} from './text/bad-bytes.ts'
import type {EncodingCandidate} from './text/encoding-candidates.ts'
import type {FormattedCells, StoredWorkbook, WorkbookEvidence, XlsxFile} from './xlsx/xlsx-file.ts'

/**
 * `bad`: bytes that are invalid in the file's encoding. `candidates`: possible encodings, if the encoding is uncertain, or if bytes are invalid and
 * the encoding is not UTF-16 or UTF-32.
 */
export type TextEvidence = {bad: BadBytesFound | null; candidates?: EncodingCandidate[]}

/** Only workbooks have `stored`, `formatted` and `workbook`; only CSV files have `text`. For `header`, see `proposeHeader`. */
export type ExaminedFile = Omit<Evidence, 'columns'> & {
  columns: (ColumnEvidence & {stored?: StoredWorkbook; formatted?: FormattedCells})[]
  fileColumns: string[]
  workbook?: WorkbookEvidence
  header?: HeaderProposal
  text?: TextEvidence
}

export const examine = async (table: Table & {fileColumns?: string[]}, workbook: XlsxFile | null): Promise<ExaminedFile> => {
  const gathering = openEvidence(table.columns)
  if (workbook) workbook.countsMerged = true
  for await (const chunk of table.rows) gathering.add(chunk)
  const header = table.proposeHeader?.()
  const {columns, ...found} = gathering.end()
  const evidence = {...found, ...(header && {header})}
  const fileColumns = table.fileColumns ?? table.columns
  if (!workbook) return {...evidence, columns, fileColumns}
  const {epoch, merged} = workbook.evidence
  return {
    ...evidence,
    columns: columns.map((column, at) => (at < fileColumns.length ? {...column, ...storedIn(workbook, at)} : column)),
    fileColumns,
    workbook: {epoch, merged},
  }
}

const storedIn = ({stored, formatted}: XlsxFile, at: number) => ({
  stored: stored[at] ?? {},
  ...(formatted[at] && {formatted: formatted[at]}),
})
