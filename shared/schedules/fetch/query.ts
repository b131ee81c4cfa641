import type {Socket} from 'node:net'
import {openMysqlQuery} from '../../../sql/mysql-query.ts'
import {openQuery, type QueryRows} from '../../../sql/query-cursor.ts'
import {startClock} from '../../crm/deadline.ts'
import type {Outbound} from '../outbound/outbound.ts'
import {SourceFailure} from './failure.ts'
import type {Bounds, FetchResult} from './fetch.ts'
import {nameOf} from './name.ts'
import {queryFailureOf} from './query-failure.ts'
import type {FileSource} from './source.ts'

export type QuerySource = Extract<FileSource, {kind: 'postgres' | 'mysql'}>

/**
 * The time limit of one PostgreSQL statement, such as a fetch of 500 rows. A MySQL query has a single limit, which includes the time to consume its
 * rows.
 */
const batchSeconds = 5 * 60
const usualMostRows = 5_000_000

/** Runs the query of a source in a read-only transaction. Returns the rows as a CSV file with the column names. NULL becomes an empty cell. */
export const fetchQuery = async (outbound: Outbound, source: QuerySource, bounds: Bounds): Promise<FetchResult> => {
  const {host, port, user, password, database, query, tls, ca} = source
  const clock = startClock(bounds.timeoutSeconds, bounds.signal)
  const failureOf = queryFailureOf(source, bounds)
  const failed = (error: unknown) => failureOf(clock.signal.aborted ? clock.signal.reason : error)
  let socket: Socket | undefined
  const end = () => {
    clock.stop()
    socket?.destroy()
  }
  try {
    socket = await outbound.connect({host, port, signal: clock.signal, isPlain: !tls})
    clock.signal.addEventListener('abort', end, {once: true})
    clock.signal.throwIfAborted()
    const input = {socket, host, user, password, database, query, tls: tls ? {...(ca !== undefined && {ca})} : null}
    const rows =
      source.kind === 'mysql'
        ? await openMysqlQuery({...input, statementSeconds: bounds.timeoutSeconds})
        : await openQuery({...input, statementSeconds: Math.min(batchSeconds, bounds.timeoutSeconds)})
    return {name: nameOf(`${database}.csv`), contentType: 'text/csv', charset: 'utf-8', stream: readCsv(rows, {...bounds, end, failed})}
  } catch (error) {
    end()
    throw failed(error)
  }
}

type CsvContext = Bounds & {end(): void; failed(error: unknown): unknown}

async function* readCsv({columns, batches, end: endQuery}: QueryRows, {end, failed, ...bounds}: CsvContext) {
  try {
    yield* limited(columns, batches, bounds)
    await endQuery()
  } catch (error) {
    throw failed(error)
  } finally {
    end()
  }
}

async function* limited(columns: string[], batches: QueryRows['batches'], {limitBytes, mostRows = usualMostRows}: Bounds) {
  let [rows, bytes] = [0, 0]
  const count = (text: string) => {
    const piece = Buffer.from(text)
    bytes += piece.length
    if (bytes <= limitBytes) return piece
    throw new SourceFailure('TOO_LARGE', `The rows of the query exceed the limit of ${limitBytes} bytes. Narrow the query`)
  }
  yield count(lineOf(columns))
  for await (const batch of batches) {
    rows += batch.length
    if (rows > mostRows) throw new SourceFailure('TOO_MANY_ROWS', `The query returns more than ${mostRows} rows. Narrow it`)
    yield count(batch.map(lineOf).join(''))
  }
}

/**
 * Returns a line of CSV. Every value except NULL is quoted, so that the delimiter is certain. A line is never empty, because readers skip empty
 * lines.
 */
const lineOf = (cells: readonly (string | null)[]): string =>
  `${cells.map(cell => (cell === null ? '' : `"${cell.replaceAll('"', '""')}"`)).join() || '""'}\n`
