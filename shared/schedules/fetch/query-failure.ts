import {AnswerTooLarge, MalformedAnswer} from '../../../sql/guarded-stream.ts'
import {NotRowQuery} from '../../../sql/mysql-query.ts'
import {SourceFailure} from './failure.ts'
import type {Bounds} from './fetch.ts'
import {mysqlRefusalOf} from './mysql-refusal.ts'
import {postgresRefusalOf} from './postgres-refusal.ts'
import type {QuerySource} from './query.ts'

const products = {postgres: 'PostgreSQL', mysql: 'MySQL or MariaDB'} as const

/**
 * Returns a function that converts an error of the database or its driver to a SourceFailure without values of rows. If the caller's signal is
 * aborted, the function returns the reason of the signal.
 */
export const queryFailureOf =
  (source: QuerySource, {signal, timeoutSeconds}: Bounds) =>
  (error: unknown): unknown => {
    if (signal?.aborted) return signal.reason
    const {host} = source
    const {name, message, code} = error as Error & {code?: unknown}
    const failed = (as: SourceFailure['code'], says: string) => new SourceFailure(as, says, {cause: error})
    if (name === 'SourceFailure' || name === 'OutboundFailure') return error
    if (name === 'TimeoutError') return failed('TIMED_OUT', `${host} did not return all rows within ${timeoutSeconds} s`)
    if (error instanceof AnswerTooLarge)
      return failed('TOO_LARGE', 'The rows of the query are too large for the memory. Select fewer columns')
    if (error instanceof MalformedAnswer)
      return failed('BAD_ANSWER', `${host} does not answer as a ${products[source.kind]} server does. Check host and port`)
    if (error instanceof NotRowQuery)
      return failed('QUERY_FAILED', 'The query is not a statement that returns rows. Enter one SELECT statement')
    const refusal = source.kind === 'mysql' ? mysqlRefusalOf(source, error) : postgresRefusalOf(source, error)
    if (refusal) return failed(...refusal)
    if (code === 'HANDSHAKE_NO_SSL_SUPPORT' || (/SSL/.test(message) && code === undefined))
      return failed('BAD_ANSWER', `${host} offers no TLS on this port, or is not a ${products[source.kind]} server`)
    if (typeof code === 'string' && /CERT|TLS|SSL|SIGNATURE|VERIFY/.test(code))
      return failed(
        'UNREACHABLE',
        `The certificate of ${host} could not be verified (${code}). If a private authority issued it, enter that authority`,
      )
    if (message === 'timeout expired' || message === 'connect ETIMEDOUT')
      return failed('TIMED_OUT', `${host} does not answer as a ${products[source.kind]} server does. Check host and port`)
    return failed('UNREACHABLE', `The connection to ${host} was lost. Check the server, then test again`)
  }
