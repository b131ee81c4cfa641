import {BackendTerminatedError, BackendTerminatedUnexpectedlyError, ConnectionError} from 'slonik'

const NOT_THERE = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']
/** SQLSTATEs of an outage: connection exceptions; a server without resources or connections; a server that shuts down, crashed or is starting. */
const STATE = /^(08...|53...|57P0[1-3])$/
const CLASSES = [ConnectionError, BackendTerminatedError, BackendTerminatedUnexpectedlyError]
/** Messages of the outages to which `pg` gives no code. */
const WORDS =
  /timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error|not queryable|Query read timeout|Client is (pending destroy|destroyed)/

/** Whether a query failed because Postgres was unreachable or went away, whichever library reports it. Such a query is worth a retry. */
export const isOutage = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (NOT_THERE.includes(code) || STATE.test(code) || CLASSES.some(one => error instanceof one) || WORDS.test(error.message)) return true
  if (error instanceof AggregateError && error.errors.some(isOutage)) return true
  return isOutage(error.cause)
}
