import pg from 'pg'
import type {CommonQueryMethods, DatabasePool, DatabaseTransactionConnection, Interceptor, QueryResultRow} from 'slonik'
import {createPool, createSqlTag, SchemaValidationError} from 'slonik'
import {openDriver} from './driver.ts'

export const sql = createSqlTag()
export type Db = CommonQueryMethods
export type Tx = DatabaseTransactionConnection
export type Pool = DatabasePool

/** Every row is checked against the zod shape beside its query, so a wrong column fails in a test and not in a customer's run. */
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
 * Int8 comes back as a number (our counters stay below 2^53) and timestamptz as ISO 8601 UTC with milliseconds.
 * Connections are not reset between uses: nothing here leaves session state behind (no SET, LISTEN, temp tables or session locks).
 */
export const openDatabase = (url: string, {connections = 10}: {connections?: number} = {}): Promise<Pool> =>
  createPool(url, {
    driverFactory: openDriver({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      statement_timeout: 30_000,
      // Where nobody answers at all: Postgres itself answers within its own time-out.
      query_timeout: 35_000,
      idle_in_transaction_session_timeout: 10_000,
      types: {getTypeParser: (oid: number, format?: unknown) => PARSERS.get(oid) ?? pg.types.getTypeParser(oid, format as 'text')},
    }),
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
 * The few statements that run for every request or batch: prepared once per connection, half the cost of the others. They are planned once
 * too: what they find their rows by never changes, and planning a T2 anew takes a third of its time.
 */
export type Hot = pg.Pool

export const openHot = (url: string, {connections = 4}: {connections?: number} = {}): Hot => {
  const hot = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 10_000,
    query_timeout: 15_000,
    options: '-c plan_cache_mode=force_generic_plan',
    types: {getTypeParser: (oid: number, format?: unknown) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'))},
  })
  // An idle connection whose socket dies is dropped by the pool; the next query opens another.
  hot.on('error', () => {})
  return hot
}

/** A named statement: `run(hot, values)` answers its rows. The name is the prepared statement's, so one per text. */
export const prepare =
  <Row extends object>(name: string, text: string) =>
  async (hot: Hot, values: unknown[]): Promise<Row[]> =>
    (await hot.query<Row>({name, text, values})).rows

/** The SQLSTATE of a database error, wherever it is wrapped; null for anything else. It always has a digit; `EPIPE` is a socket's. */
export const sqlStateOf = (error: unknown): string | null => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(at.code)) return at.code
  }
  return null
}

/**
 * Whether a statement that failed so may have been committed all the same: the connection or the server went away, or
 * nobody answered in time. Every other database error, and every mistake of our own, means that nothing was done.
 */
export const isFateUnknown = (error: unknown) => {
  const state = sqlStateOf(error)
  if (state === null) return !MISTAKES.some(mistake => error instanceof mistake)
  return state.startsWith('08') || state.startsWith('57P') || isPanic(error)
}

/** The server fell over what it was writing down: the commit may be in its log all the same. */
const isPanic = (error: unknown): boolean =>
  error instanceof Error && (('severity' in error && error.severity === 'PANIC') || isPanic(error.cause))

const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError]

/** Gone with the transaction, and worth saying again: deadlocks, serialisation, lock and statement time-outs, a server out of means or read only. */
export const isPassing = (error: unknown) => /^(40P01|40001|55P03|57014|53...|25006)$/.test(sqlStateOf(error) ?? '')

/** A transaction as the queue takes one: its own statements join ours. */
export const statementsIn = (tx: Tx) => ({
  executeSql: async (text: string, values: unknown[] = []) => {
    const {rows} = await tx.query({...sql.unsafe``, sql: text, values: values as never})
    return {rows: [...rows]}
  },
})
