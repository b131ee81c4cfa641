import {oneLineOf, type QueryRefusal, type SourceFailure} from './failure.ts'
import type {QuerySource} from './query.ts'

/** The failure code of each SQL state, or of a class of SQL states (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const codes: Record<string, SourceFailure['code']> = {
  '28': 'SIGN_IN_REFUSED',
  '42501': 'SIGN_IN_REFUSED',
  '3D000': 'NOT_FOUND',
  '57014': 'TIMED_OUT',
  '08P01': 'QUERY_FAILED',
  // The server is starting, stopping or overloaded, the connection failed, or the server aborted the transaction.
  '08': 'UNREACHABLE',
  '40': 'UNREACHABLE',
  '53': 'UNREACHABLE',
  '57': 'UNREACHABLE',
}

/**
 * Converts an error that PostgreSQL sent. The server's message is shown only for SQL states of classes 42 and 0A, which name parts of the query.
 * Other messages may quote values of rows, so only the SQL state is shown.
 */
export const postgresRefusalOf = ({host, database}: QuerySource, error: unknown): QueryRefusal => {
  const {code: state, severity, message} = error as Error & {code?: unknown; severity?: unknown}
  if (typeof severity !== 'string' || typeof state !== 'string') return null
  const code = codes[state] ?? codes[state.slice(0, 2)] ?? 'QUERY_FAILED'
  if (state === '42501') return [code, `The user may not run this query: ${oneLineOf(message)}`]
  if (code === 'SIGN_IN_REFUSED') return [code, `${host} refused the user, the password or this connection (${state})`]
  if (code === 'NOT_FOUND') return [code, `${host} has no database ${database}`]
  if (code === 'TIMED_OUT') return [code, `${host} cancelled the query, usually because it took too long (${state}). Narrow the query`]
  if (code === 'UNREACHABLE') return [code, `${host} cannot run the query at the moment (${state})`]
  if (state === '25006') return [code, 'The query changes data. Enter a query that only reads']
  if (/^(42|0A)/.test(state)) return [code, `The database refused the query: ${oneLineOf(message)}`]
  return [code, `The database refused the query (${state})`]
}
