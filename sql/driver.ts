import pg from 'pg'
import {
  BackendTerminatedError,
  createDriverFactory,
  type DriverClientEventEmitter,
  type DriverFactory,
  type DriverQueryResult,
} from 'slonik'

/**
 * Opens a slonik driver over `pg` in which a lost connection affects only its own queries. With slonik's own driver, a lost connection can end the
 * process or block its caller for ever. A connection that cannot be opened still enters the pool and fails its first query, because the pool serves
 * waiting callers only when a connection leaves. A connection whose query gets no answer is treated as lost. `prepares`: each connection prepares the
 * long statements that it repeats, see `openNames`.
 */
export const openDriver = (config: pg.ClientConfig, {prepares}: {prepares: boolean}): DriverFactory =>
  createDriverFactory(async () => ({createPoolClient: async ({clientEventEmitter}) => openClient(config, prepares, clientEventEmitter)}))

const openClient = (config: pg.ClientConfig, prepares: boolean, driverClientEventEmitter: DriverClientEventEmitter) => {
  const client = new pg.Client(config)
  const names = prepares ? openNames() : null
  let lost: Error | null = null
  let isIn = false
  const lose = (error: Error) => {
    lost ??= error
    // The pool removes its listener when it drops the client. Without a listener, `emit` would throw.
    if (isIn && driverClientEventEmitter.listenerCount('error')) driverClientEventEmitter.emit('error', new BackendTerminatedError(error))
  }
  client.on('error', lose)
  client.on('notice', ({message}) => message && driverClientEventEmitter.emit('notice', {message}))
  return {
    async connect() {
      await client.connect().catch(lose)
      isIn = true
    },
    async end() {
      const ended = client.end()
      // After a lost connection, `ended` may never resolve, because a closed socket emits no further end.
      if (!lost) await ended
    },
    async query(text: string, values?: unknown[]): Promise<DriverQueryResult> {
      if (lost) throw new BackendTerminatedError(lost)
      try {
        const name = names?.nameOf(text)
        return readResult(await client.query({text, ...(values && {values}), ...(name && {name})}))
      } catch (error) {
        if (isOutdated(error)) names?.drop(text)
        // Any later query on this connection would wait behind the unanswered one.
        if (isUnanswered(error)) lose(error)
        throw lost || isFatal(error) ? new BackendTerminatedError(error as Error) : error
      }
    },
    stream(): never {
      throw new Error('This driver does not support streams')
    },
  }
}

/** Minimum number of characters of a prepared statement. Postgres parses and plans a shorter one in a fraction of a millisecond. */
const leastCharacters = 400
/** Maximum number of prepared statements of a connection. Each takes up to some hundred kilobytes of memory in Postgres. */
const mostNames = 60
/** Maximum number of long statements that a connection remembers. Many of them are used only once. */
const mostTexts = 200

/**
 * Names the long statements of a connection from their second use on, so that Postgres parses and plans each only a few times. `names`: the
 * name of each statement by its text; '' for a statement that was used once, null for a statement that must have no name.
 */
const openNames = () => {
  const names = new Map<string, string | null>()
  let count = 0
  return {
    nameOf(text: string): string | undefined {
      const name = names.get(text)
      if (name === undefined && text.length >= leastCharacters && names.size < mostTexts) names.set(text, '')
      if (name === '' && count < mostNames) names.set(text, `long ${count++}`)
      return name === undefined ? undefined : names.get(text) || undefined
    },
    drop: (text: string) => void names.set(text, null),
  }
}

/** Whether a migration changed the columns of a prepared statement. The next use of the statement succeeds without a name. */
const isOutdated = (error: unknown) => error instanceof pg.DatabaseError && error.code === '0A000' && /cached plan/.test(error.message)

const readResult = (result: pg.QueryResult): DriverQueryResult => {
  if (Array.isArray(result)) throw new Error('Send one statement at a time')
  const {command, rowCount, rows, fields} = result
  return {
    command: command as DriverQueryResult['command'],
    rowCount,
    rows,
    fields: fields.map(({dataTypeID, name}) => ({dataTypeId: dataTypeID, name})),
  }
}

/** Whether the query timed out. `pg` gives this error no class and no code. */
const isUnanswered = (error: unknown): error is Error => error instanceof Error && error.message === 'Query read timeout'

/** Whether Postgres closes the connection after this error. */
const isFatal = (error: unknown) => error instanceof pg.DatabaseError && (error.severity === 'FATAL' || error.severity === 'PANIC')
