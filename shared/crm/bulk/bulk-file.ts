import {ZipFile} from 'yazl'
import {type BulkColumn, writeBulkCell} from './bulk-columns.ts'

/** The maximum number of columns of a file. Source: the vendor's page of bulk uploads. */
export const mostBulkColumns = 200

/**
 * Returns a ZIP with one CSV, whose header has the API names. All records of an update must have the same fields, because an empty cell clears a
 * field. Throws RangeError for more than 200 columns, and for a value for which `writeBulkCell` returns null.
 */
export const writeBulkFile = async (name: string, columns: BulkColumn[], records: Record<string, unknown>[]): Promise<Buffer> => {
  if (columns.length > mostBulkColumns) throw new RangeError(`A bulk file has at most ${mostBulkColumns} columns, not ${columns.length}`)
  const rows = records.map(record => columns.map(column => cellOf(column, record)))
  const csv = [columns.map(({apiName}) => apiName), ...rows].map(cells => `${cells.map(quote).join(',')}\r\n`).join('')
  const zip = new ZipFile()
  zip.addBuffer(Buffer.from(csv), name, {mtime: new Date(0)})
  zip.end()
  return Buffer.concat((await Array.fromAsync(zip.outputStream)) as Buffer[])
}

const cellOf = (column: BulkColumn, record: Record<string, unknown>): string => {
  const cell = writeBulkCell(column, record[column.apiName])
  if (cell === null) throw new RangeError(`A bulk file cannot hold this value of ${column.apiName}`)
  return cell
}

const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`
