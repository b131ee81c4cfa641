import {type Logger, pino} from 'pino'

export type Log = Logger

/** Names whose values never reach a log, wherever they stand. Rows are not logged at all: log ids, counts and codes. */
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
 * Name, code, message and stack; never a query's values or a response body, which errors of libraries carry along
 * and which may hold rows.
 */
const describeError = (error: unknown): object => {
  if (!(error instanceof Error)) return {name: typeof error}
  const {name, message, stack, cause} = error
  const code = 'code' in error ? error.code : undefined
  return {name, message, ...(code !== undefined && {code}), stack, ...(cause !== undefined && {cause: describeError(cause)})}
}
