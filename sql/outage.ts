import {BackendTerminatedError, BackendTerminatedUnexpectedlyError, ConnectionError} from 'slonik'

const NOT_THERE = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']
/** Connection exceptions, a server without room, memory or connections to give, and one that shuts down, crashed or still starts. */
const STATE = /^(08...|53...|57P0[1-3])$/
const CLASSES = [ConnectionError, BackendTerminatedError, BackendTerminatedUnexpectedlyError]
/** `pg` gives these no code. */
const WORDS =
  /timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error|not queryable|Query read timeout|Client is (pending destroy|destroyed)/

/** Whether a query failed because Postgres could not be reached or went away, whichever library says so: worth asking again. */
export const isOutage = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (NOT_THERE.includes(code) || STATE.test(code) || CLASSES.some(one => error instanceof one) || WORDS.test(error.message)) return true
  if (error instanceof AggregateError && error.errors.some(isOutage)) return true
  return isOutage(error.cause)
}
