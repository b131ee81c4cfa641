import {type Logger, pino} from 'pino'

export type Log = Logger

/**
 * Keys whose values are redacted in logs: at the top level, one level deeper, and in `headers` at both levels. `code` is redacted only in
 * `headers`, because errors have a `code`. Rows are never logged: log ids, counts and codes instead.
 */
const SECRET = ['authorization', 'cookie', 'token', 'secret', 'grant', 'code', 'access_token', 'refresh_token', 'client_secret', 'password']

export const openLog = (name: string, level: string): Log =>
  pino({
    name,
    level,
    redact: {
      paths: SECRET.flatMap(word => [`headers.${word}`, `*.headers.${word}`, ...(word === 'code' ? [] : [word, `*.${word}`])]),
      censor: '[redacted]',
    },
    serializers: {err: describeError},
    timestamp: pino.stdTimeFunctions.isoTime,
  })

/**
 * Describes an error by name, code, message and stack. Query values and response bodies of library errors are left out, because they may contain
 * rows.
 */
const describeError = (error: unknown): object => {
  if (!(error instanceof Error)) return {name: typeof error}
  const {name, message, stack, cause} = error
  const code = 'code' in error ? error.code : undefined
  return {name, message, ...(code !== undefined && {code}), stack, ...(cause !== undefined && {cause: describeError(cause)})}
}
