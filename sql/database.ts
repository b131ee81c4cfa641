import pg from 'pg'
import type {CommonQueryMethods, DatabasePool, DatabaseTransactionConnection, Interceptor, QueryResultRow} from 'slonik'
import {createPool, createSqlTag, SchemaValidationError} from 'slonik'
import {openDriver} from './driver.ts'
import {isPooled, UnnamedStatementClient} from './pooler.ts'

export const sql = createSqlTag()
export type Db = CommonQueryMethods
export type Tx = DatabaseTransactionConnection
export type Pool = DatabasePool

/** Checks every row against the zod shape of its query, so that a wrong column fails in a test and not in a customer's run. */
const parseRows: Interceptor = {
  name: 'parse-rows',
  transformRowAsync: async ({resultParser}, query, row) => {
    if (!resultParser) return row
    const result = await resultParser['~standard'].validate(row)
    if (result.issues) throw new SchemaValidationError(query, row, result.issues)
    return result.value as QueryResultRow
  },
}

/**
 * Opens the connection pool. int8 values are returned as numbers, because our counters stay below 2^53, and timestamptz values as ISO 8601 UTC with
 * milliseconds. Connections are not reset between uses: queries leave no session state behind (no SET, LISTEN, temp tables or session locks), and
 * prepared statements must stay. Behind a pooler, the server's timeouts are settings of the role.
 */
export const openDatabase = (url: string, {connections = 10}: {connections?: number} = {}): Promise<Pool> =>
  createPool(url, {
    driverFactory: openDriver(
      {
        connectionString: url,
        connectionTimeoutMillis: 5_000,
        ...(!isPooled(url) && {statement_timeout: 30_000, idle_in_transaction_session_timeout: 10_000}),
        // This timeout is for a server that does not answer at all. Postgres itself answers within `statement_timeout`.
        query_timeout: 35_000,
        types: {getTypeParser: (oid: number, format?: unknown) => PARSERS.get(oid) ?? pg.types.getTypeParser(oid, format as 'text')},
      },
      {prepares: !isPooled(url)},
    ),
    interceptors: [parseRows],
    maxPoolSize: connections,
    resetConnection: async () => {},
  })

const [INT8, INT8_ARRAY, TIMESTAMPTZ, TIMESTAMPTZ_ARRAY, TEXT_ARRAY] = [20, 1016, 1184, 1185, 1009]
const readInstant = (text: string) => new Date(text).toISOString()
const readArray =
  <T>(read: (text: string) => T) =>
  (text: string): (T | null)[] =>
    pg.types
      .getTypeParser(TEXT_ARRAY)(text)
      .map((item: string | null) => (item === null ? null : read(item)))

const PARSERS = new Map<number, (text: string) => unknown>([
  [INT8, Number],
  [INT8_ARRAY, readArray(Number)],
  [TIMESTAMPTZ, readInstant],
  [TIMESTAMPTZ_ARRAY, readArray(readInstant)],
])

/**
 * A pool for the few statements that run for every request or batch. Each connection prepares a statement once, which halves its cost. Each
 * connection also plans a statement once, because planning takes a third of the time of a settlement. Behind a pooler, statements are planned
 * each time.
 */
export type Hot = pg.Pool

export const openHot = (url: string, {connections = 4}: {connections?: number} = {}): Hot => {
  const hot = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: 5_000,
    query_timeout: 15_000,
    ...(isPooled(url) ? {Client: UnnamedStatementClient} : {statement_timeout: 10_000, options: '-c plan_cache_mode=force_generic_plan'}),
    types: {getTypeParser: (oid: number, format?: unknown) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'))},
  })
  // The pool drops an idle connection whose socket dies. The next query opens another.
  hot.on('error', () => {})
  return hot
}

/** Returns a function that executes a named prepared statement and returns its rows. Each text needs its own name. */
export const prepare =
  <Row extends object>(name: string, text: string) =>
  async (hot: Hot, values: unknown[]): Promise<Row[]> =>
    (await hot.query<Row>({name, text, values})).rows

/**
 * Returns the SQLSTATE of a database error, at any level of `cause`; null for other errors. A SQLSTATE always has a digit, unlike the
 * socket error `EPIPE`.
 */
export const sqlStateOf = (error: unknown): string | null => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(at.code)) return at.code
  }
  return null
}

/**
 * Whether a failed statement may have been committed: the connection or the server was lost, or no answer came in time. Other database errors and
 * programming errors mean that nothing was committed. For any other error, the result is true.
 */
export const isFateUnknown = (error: unknown) => {
  const state = sqlStateOf(error)
  if (state === null) return !MISTAKES.some(mistake => error instanceof mistake)
  return state.startsWith('08') || state.startsWith('57P') || isPanic(error)
}

/** Whether the server crashed during a write. The server's log may contain the commit. */
const isPanic = (error: unknown): boolean =>
  error instanceof Error && (('severity' in error && error.severity === 'PANIC') || isPanic(error.cause))

const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError]

/**
 * Whether the error rolled back the transaction and a retry may succeed: a deadlock, a serialisation failure, a lock or statement timeout,
 * or a server that is read-only or out of resources.
 */
export const isPassing = (error: unknown) => /^(40P01|40001|55P03|57014|53...|25006)$/.test(sqlStateOf(error) ?? '')

/** Wraps a transaction in the form that the queue accepts, so that the queue's statements join it. */
export const statementsIn = (tx: Tx) => ({
  executeSql: async (text: string, values: unknown[] = []) => {
    const {rows} = await tx.query({...sql.unsafe``, sql: text, values: values as never})
    return {rows: [...rows]}
  },
})
