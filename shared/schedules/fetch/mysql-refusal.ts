import {oneLineOf, type QueryRefusal} from './failure.ts'
import type {QuerySource} from './query.ts'

// Sources of the numbers: https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html and
// https://mariadb.com/kb/en/mariadb-error-code-reference/
const rightMissing: ReadonlySet<number> = new Set([1142, 1143, 1227, 1370])
const signInRefused: ReadonlySet<number> = new Set([1044, 1045, 1130, 1251, 1698, 1862, 3118, 3159])
const tooSlow: ReadonlySet<number> = new Set([1317, 1969, 3024])
/** The server is full or stopping, blocks this host or user, closed the connection, or ended the query because of a lock or a deadlock. */
const unreachable: ReadonlySet<number> = new Set([1040, 1053, 1129, 1203, 1205, 1213, 1226, 1927])
const noDatabase = 1049
const readOnly: ReadonlySet<number> = new Set([1290, 1792, 1836])

/**
 * Converts an error that MySQL or MariaDB sent. The server's message is shown only for SQL states of class 42, which name parts of the query. Other
 * messages may quote values of rows, so only the error number is shown.
 */
export const mysqlRefusalOf = ({host, database}: QuerySource, error: unknown): QueryRefusal => {
  const {errno, sqlState, message} = error as Error & {errno?: unknown; sqlState?: unknown}
  if (typeof errno !== 'number' || typeof sqlState !== 'string') return null
  if (rightMissing.has(errno)) return ['SIGN_IN_REFUSED', `The user may not run this query: ${oneLineOf(message)}`]
  if (signInRefused.has(errno)) return ['SIGN_IN_REFUSED', `${host} refused the user, the password or this connection (${errno})`]
  if (errno === noDatabase) return ['NOT_FOUND', `${host} has no database ${database}`]
  if (tooSlow.has(errno)) return ['TIMED_OUT', `${host} cancelled the query, usually because it took too long (${errno}). Narrow the query`]
  if (unreachable.has(errno)) return ['UNREACHABLE', `${host} cannot run the query at the moment (${errno})`]
  if (readOnly.has(errno)) return ['QUERY_FAILED', 'The query changes data. Enter a query that only reads']
  if (sqlState.startsWith('42')) return ['QUERY_FAILED', `The database refused the query: ${oneLineOf(message)}`]
  return ['QUERY_FAILED', `The database refused the query (${errno})`]
}
