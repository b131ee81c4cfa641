import {type ColumnEvidence, type Evidence, openEvidence} from './evidence.ts'
import type {Table} from './row.ts'
import type {Stored, WorkbookEvidence, XlsxFile} from './xlsx/xlsx-file.ts'

/** What was found in a file: `stored` and `workbook` of a workbook only. */
export type Examined = Omit<Evidence, 'columns'> & {
  columns: (ColumnEvidence & {stored?: Stored})[]
  fileColumns: string[]
  workbook?: WorkbookEvidence
}

/** Reads a table to its end. */
export const examine = async (table: Table & {fileColumns?: string[]}, workbook: XlsxFile | null): Promise<Examined> => {
  const gathering = openEvidence(table.columns)
  for await (const chunk of table.rows) gathering.add(chunk)
  const {columns, ...evidence} = gathering.end()
  const fileColumns = table.fileColumns ?? table.columns
  if (!workbook) return {...evidence, columns, fileColumns}
  const {epoch, merged} = workbook.evidence
  return {
    ...evidence,
    columns: columns.map((column, at) => (at < fileColumns.length ? {...column, stored: workbook.stored[at] ?? {}} : column)),
    fileColumns,
    workbook: {epoch, merged},
  }
}
