import type {BadBytesFound} from './bad-bytes.ts'
import type {Candidate} from './encoding-candidates.ts'
import {type ColumnEvidence, type Evidence, openEvidence} from './evidence.ts'
import type {HeaderProposal} from './header-row.ts'
import type {Table} from './row.ts'
import type {Formatted, Stored, WorkbookEvidence, XlsxFile} from './xlsx/xlsx-file.ts'

/** Of a CSV file: bytes that are not in its encoding, and, where that is not certain, the encodings it may have been saved in. */
export type TextEvidence = {bad: BadBytesFound | null; candidates?: Candidate[]}

/** What was found in a file: `stored`, `formatted` and `workbook` of a workbook only, `text` of CSV only. `header`: see `proposeHeader`. */
export type Examined = Omit<Evidence, 'columns'> & {
  columns: (ColumnEvidence & {stored?: Stored; formatted?: Formatted})[]
  fileColumns: string[]
  workbook?: WorkbookEvidence
  header?: HeaderProposal
  text?: TextEvidence
}

/** Reads a table to its end. */
export const examine = async (table: Table & {fileColumns?: string[]}, workbook: XlsxFile | null): Promise<Examined> => {
  const gathering = openEvidence(table.columns)
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
