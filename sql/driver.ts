import pg from 'pg'
import {
  BackendTerminatedError,
  createDriverFactory,
  type DriverClientEventEmitter,
  type DriverFactory,
  type DriverQueryResult,
} from 'slonik'

/**
 * Slonik over `pg`, made so that a connection that ends at any moment ends nothing but itself. The client has a listener for as long as it
 * lives. One that could not be made, or is lost as soon as it is, comes into the pool all the same, fails whoever asks it first and leaves:
 * whoever waits for a connection is passed on only when one leaves. A query that nobody answers is given up. The driver that comes with
 * slonik lets each of these end the process, or keep its caller for ever; it also asks for the types by a client of its own.
 */
export const openDriver = (config: pg.ClientConfig): DriverFactory =>
  createDriverFactory(async () => ({createPoolClient: async ({clientEventEmitter}) => openClient(config, clientEventEmitter)}))

const openClient = (config: pg.ClientConfig, told: DriverClientEventEmitter) => {
  const client = new pg.Client(config)
  let lost: Error | null = null
  let isIn = false
  const lose = (error: Error) => {
    lost ??= error
    // Nobody listens any more when the pool has given the client up: what is said then says nothing new.
    if (isIn && told.listenerCount('error')) told.emit('error', new BackendTerminatedError(error))
  }
  client.on('error', lose)
  client.on('notice', ({message}) => message && told.emit('notice', {message}))
  return {
    async connect() {
      await client.connect().catch(lose)
      isIn = true
    },
    async end() {
      const ended = client.end()
      // A socket that is gone already does not say so again.
      if (!lost) await ended
    },
    async query(text: string, values?: unknown[]): Promise<DriverQueryResult> {
      if (lost) throw new BackendTerminatedError(lost)
      try {
        return readResult(await client.query(text, values))
      } catch (error) {
        // Whatever is sent after it waits behind it.
        if (isUnanswered(error)) lose(error)
        throw lost || isFatal(error) ? new BackendTerminatedError(error as Error) : error
      }
    },
    stream(): never {
      throw new Error('Nothing here reads a query as a stream')
    },
  }
}

const readResult = (result: pg.QueryResult): DriverQueryResult => {
  if (Array.isArray(result)) throw new Error('One statement at a time')
  const {command, rowCount, rows, fields} = result
  return {
    ...{command: command as DriverQueryResult['command'], rowCount, rows},
    fields: fields.map(({dataTypeID, name}) => ({dataTypeId: dataTypeID, name})),
  }
}

/** `pg` gives it no class and no code. */
const isUnanswered = (error: unknown): error is Error => error instanceof Error && error.message === 'Query read timeout'

/** After which Postgres hangs up. */
const isFatal = (error: unknown) => error instanceof pg.DatabaseError && (error.severity === 'FATAL' || error.severity === 'PANIC')
