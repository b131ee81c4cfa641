import mysql, {type FieldPacket} from 'mysql2'
import type {QueryCell} from './query-values.ts'

/**
 * Returns a converter from the bytes of the text protocol to the text of a cell. Numbers keep every digit. DATETIME and TIMESTAMP are in ISO 8601,
 * TIMESTAMP in UTC. BIT is a decimal number, and binary values are hexadecimal, as in SQL. Needs `time_zone` +00:00 and a connection in utf8mb4.
 * Source: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html
 */
export const mysqlCellsOf = (fields: readonly FieldPacket[]): ((row: readonly (Buffer | null)[]) => QueryCell[]) => {
  const convert = fields.map(converterOf)
  return row => row.map((bytes, at) => (bytes === null ? null : convert[at]!(bytes)))
}

const {Types} = mysql
const binaryCharset = 63
const texts: ReadonlySet<number> = new Set([
  Types.VARCHAR,
  Types.VAR_STRING,
  Types.STRING,
  Types.TINY_BLOB,
  Types.MEDIUM_BLOB,
  Types.LONG_BLOB,
  Types.BLOB,
])
const alwaysBinary: ReadonlySet<number> = new Set([Types.GEOMETRY, Types.VECTOR])

const converterOf = ({columnType = Types.VAR_STRING, characterSet}: FieldPacket): ((bytes: Buffer) => string) => {
  if (columnType === Types.BIT) return bytes => String(BigInt(`0x${bytes.toString('hex') || '0'}`))
  if (columnType === Types.TIMESTAMP) return bytes => momentOf(bytes.toString(), 'Z')
  if (columnType === Types.DATETIME) return bytes => momentOf(bytes.toString(), '')
  if (alwaysBinary.has(columnType) || (texts.has(columnType) && characterSet === binaryCharset))
    return bytes => `0x${bytes.toString('hex')}`
  return bytes => bytes.toString()
}

/** `2026-11-28 16:05:00.25`. A zero date (`0000-00-00`) is not a valid date, so it stays as MySQL writes it. */
const moment = /^(\d{4}-(?!00)\d\d-(?!00)\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,6})?)$/

const momentOf = (text: string, zone: string): string => text.replace(moment, `$1T$2${zone}`)
