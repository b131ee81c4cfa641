import {SourceFailure} from './failure.ts'
import type {Bounds} from './fetch.ts'
import type {QuerySource} from './query.ts'

const mostLetters = 300

/** The codes of SQL states and of their classes (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const codes: Record<string, SourceFailure['code']> = {
  ...{'28': 'SIGN_IN_REFUSED', '42501': 'SIGN_IN_REFUSED', '3D000': 'NOT_FOUND', '57014': 'TIMED_OUT', '08P01': 'QUERY_FAILED'},
  // The server is starting, stopping, overloaded, or a replica that must abort the query.
  ...{'08': 'UNREACHABLE', '40': 'UNREACHABLE', '53': 'UNREACHABLE', '57': 'UNREACHABLE'},
}

type PostgresError = Error & {code?: unknown; severity?: unknown}

/**
 * Returns a function that converts an error of pg. The server's sentence is shown only for SQL states of classes 42 and 0A, which name parts of
 * the query. Other sentences may quote values of rows, so only their state is shown.
 */
export const queryFailureOf =
  ({host, database}: QuerySource, {signal, timeoutSeconds}: Bounds) =>
  (error: unknown): unknown => {
    if (signal?.aborted) return signal.reason
    const {name, message, code, severity} = error as PostgresError
    const failed = (as: SourceFailure['code'], says: string) => new SourceFailure(as, says, {cause: error})
    if (name === 'SourceFailure' || name === 'OutboundFailure') return error
    if (name === 'TimeoutError') return failed('TIMED_OUT', `${host} did not return all rows within ${timeoutSeconds} s`)
    if (name === 'BatchTooLarge') return failed('TOO_LARGE', 'The rows of the query are too large for the memory. Select fewer columns')
    if (typeof severity === 'string' && typeof code === 'string') return failed(...refusalOf({host, database, code, message}))
    if (/SSL/.test(message) && code === undefined)
      return failed('BAD_ANSWER', `${host} offers no TLS on this port, or is not a PostgreSQL server`)
    if (typeof code === 'string' && /CERT|TLS|SSL|SIGNATURE|VERIFY/.test(code))
      return failed(
        'UNREACHABLE',
        `The certificate of ${host} could not be verified (${code}). If a private authority issued it, enter that authority`,
      )
    if (message === 'timeout expired') return failed('TIMED_OUT', `${host} does not answer as a PostgreSQL server does`)
    return failed('UNREACHABLE', `The connection to ${host} was lost. Check the server, then test again`)
  }

type ServerRefusal = {host: string; database: string; code: string; message: string}

const refusalOf = ({host, database, code: state, message}: ServerRefusal): [SourceFailure['code'], string] => {
  const code = codes[state] ?? codes[state.slice(0, 2)] ?? 'QUERY_FAILED'
  const said = message.replaceAll(/\s+/g, ' ').slice(0, mostLetters)
  if (state === '42501') return [code, `The user may not run this query: ${said}`]
  if (code === 'SIGN_IN_REFUSED') return [code, `${host} refused the user, the password or this connection (${state})`]
  if (code === 'NOT_FOUND') return [code, `${host} has no database ${database}`]
  if (code === 'TIMED_OUT') return [code, `${host} cancelled the query, usually because it took too long (${state}). Narrow the query`]
  if (code === 'UNREACHABLE') return [code, `${host} cannot run the query at the moment (${state})`]
  if (state === '25006') return [code, 'The query changes data. Enter a query that only reads']
  if (/^(42|0A)/.test(state)) return [code, `The database refused the query: ${said}`]
  return [code, `The database refused the query (${state})`]
}
