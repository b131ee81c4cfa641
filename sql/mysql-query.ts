import type {Readable} from 'node:stream'
import mysql, {type Connection, type FieldPacket, type QueryError} from 'mysql2'
import {guardStream} from './guarded-stream.ts'
import {mysqlCellsOf} from './mysql-values.ts'
import type {QueryInput, QueryRows} from './query-cursor.ts'
import type {QueryCell} from './query-values.ts'

/** Thrown if the text is not one statement that returns rows. */
export class NotRowQuery extends Error {
  override name = 'NotRowQuery'
}

const connectSeconds = 20
const batchRows = 500
const batchBytes = 1024 * 1024
/** Maximum number of rows that the stream buffers before the connection is paused. */
const waitingRows = 16

/**
 * Matches a query that begins, after comments and parentheses, with a word that reads. Other statements, such as CALL, could end the read-only
 * transaction. `/*!` and `/*M!` are not skipped, because the server executes them.
 */
const rowQueryPattern =
  /^(?:\s|\(|--(?:[^\S\n][^\n]*)?(?:\n|$)|#[^\n]*(?:\n|$)|\/\*(?!M?!)[\s\S]*?\*\/)*(?:select|with|values|table|show)\b/i

/**
 * Runs a query of a MySQL or MariaDB database in a read-only transaction. Rows are read as fast as the caller takes them. No value becomes a
 * JavaScript number or date. Throws errors of mysql2, NotRowQuery, and the errors of `guardStream`.
 */
export const openMysqlQuery = async ({query, statementSeconds, ...input}: QueryInput): Promise<QueryRows> => {
  if (!rowQueryPattern.test(query)) throw new NotRowQuery('The query does not begin with SELECT')
  const {connection, release} = openConnection(input)
  await runStatement(connection, 'set names utf8mb4')
  await runStatement(connection, `set time_zone = '+00:00'`)
  // Prevents the server from closing a connection that a slow reader has paused.
  await runStatement(connection, `set net_write_timeout = 600`)
  await runStatement(connection, await timeLimitOf(connection, statementSeconds))
  await runStatement(connection, 'set session transaction read only')
  await runStatement(connection, 'start transaction read only')
  const command = connection.query({sql: query, rowsAsArray: true, typeCast: false})
  const rows = command.stream({highWaterMark: waitingRows})
  // mysql2 emits a query error on `rows` and a lost connection on `connection`, but it does not destroy `rows`. After `destroy`, a later reader
  // fails with the error too.
  rows.on('error', error => rows.destroy(error))
  connection.on('error', error => rows.destroy(error))
  const fields = await firstFields(rows)
  const convert = mysqlCellsOf(fields)
  return {columns: fields.map(({name}) => name), batches: batchesOf(rows, convert, release), end: () => endConnection(connection)}
}

type ConnectionInput = Omit<QueryInput, 'query' | 'statementSeconds'>

const openConnection = ({socket, tls, host, user, password, database}: ConnectionInput) => {
  let release = guardStream(socket)
  const connection = mysql.createConnection({
    host,
    user,
    password,
    database,
    stream: socket,
    charset: 'utf8mb4',
    connectTimeout: connectSeconds * 1000,
    disableEval: true,
    flags: ['-LOCAL_FILES'],
    multipleStatements: false,
    ...(tls !== null && {ssl: {rejectUnauthorized: true, verifyIdentity: true, ...(tls.ca !== undefined && {ca: tls.ca})}}),
  }) as UpgradableConnection
  // Without a listener, Node would end the process. The running command fails with the same error.
  connection.on('error', () => {})
  const startTls = connection.startTLS.bind(connection)
  connection.startTLS = onSecure => {
    startTls(onSecure)
    release = guardStream(connection.stream)
  }
  return {connection, release: (bytes: number) => release(bytes)}
}

/** Members that the types of mysql2 omit. `startTLS` replaces `stream` by the TLS socket. */
type UpgradableConnection = Connection & {stream: import('node:stream').Duplex; startTLS(onSecure: (error?: Error) => void): void}

const runStatement = (connection: Connection, sql: string) =>
  new Promise<string[][]>((done, fail) => {
    connection.query({sql, rowsAsArray: true}, (error: QueryError | null, rows: unknown) =>
      error ? fail(error) : done(rows as string[][]),
    )
  })

/** Returns the statement that limits the time of a SELECT. Sources: MySQL, `max_execution_time`; MariaDB, `max_statement_time`. */
const timeLimitOf = async (connection: Connection, seconds: number): Promise<string> => {
  const [row] = await runStatement(connection, 'select version()')
  return /mariadb/i.test(String(row?.[0]))
    ? `set max_statement_time = ${Math.ceil(seconds)}`
    : `set max_execution_time = ${Math.ceil(seconds * 1000)}`
}

/** Waits for the columns. Throws NotRowQuery for a statement that returns no result set. */
const firstFields = (rows: Readable) =>
  new Promise<FieldPacket[]>((done, fail) => {
    rows.once('error', fail)
    rows.once('fields', (fields: FieldPacket[] | undefined) => {
      rows.off('error', fail)
      if (fields) done(fields)
      else fail(new NotRowQuery('The statement returns no rows'))
    })
  })

type Convert = ReturnType<typeof mysqlCellsOf>

async function* batchesOf(rows: Readable, convert: Convert, release: (bytes: number) => void): AsyncGenerator<QueryCell[][]> {
  let batch: QueryCell[][] = []
  let bytes = 0
  for await (const row of rows as AsyncIterable<(Buffer | null)[]>) {
    const size = row.reduce((sum, cell) => sum + (cell?.length ?? 0) + 9, 4)
    release(size)
    bytes += size
    batch.push(convert(row))
    if (batch.length < batchRows && bytes < batchBytes) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

const endConnection = (connection: Connection) =>
  new Promise<void>((done, fail) => {
    connection.end(error => (error ? fail(error) : done()))
  })
