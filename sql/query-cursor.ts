import type {Socket} from 'node:net'
import type {Duplex} from 'node:stream'
import pg from 'pg'
import {guardStream} from './guarded-stream.ts'
import {type ArrayTypes, cellsOf, type QueryCell} from './query-values.ts'

export type QueryInput = {
  /** A connection to the server, on which nothing was sent. */
  socket: Socket
  host: string
  user: string
  password: string
  database: string
  query: string
  /** `ca`: the authorities that are trusted instead of the public ones. Null: no encryption. */
  tls: {ca?: string | undefined} | null
  /** The time limit in seconds. PostgreSQL applies it to each statement, such as a fetch of 500 rows; MySQL to the whole query. */
  statementSeconds: number
}

/** The result of a query. `batches`: its rows, in groups of at most 500. `end` closes the transaction and the connection. */
export type QueryRows = {columns: string[]; batches: AsyncIterable<QueryCell[][]>; end(): Promise<void>}

const connectSeconds = 20
const batchRows = 500

/**
 * Runs a query on another database, in a read-only transaction and through a cursor. `query` must be one statement that returns rows. No value
 * becomes a JavaScript number or date. Throws errors of pg and of `guardStream`.
 */
export const openQuery = async ({query, statementSeconds, ...input}: QueryInput): Promise<QueryRows> => {
  const client = openClient(input)
  await client.connect()
  await client.query(
    `begin read only; set local statement_timeout = ${Math.ceil(statementSeconds * 1000)};
     set local datestyle = iso; set local intervalstyle = iso_8601; set local timezone = 'UTC'; set local bytea_output = hex;
     set local extra_float_digits = 1`,
  )
  await client.query(oneStatement(`declare lading_rows no scroll cursor for ${query}`))
  const first = await fetchBatch(client, 1)
  const convert = cellsOf(first.fields, await findArrayTypes(client, first.fields))
  async function* batches() {
    for (let {rows} = first; rows.length > 0; {rows} = await fetchBatch(client, batchRows)) yield rows.map(convert)
  }
  return {columns: first.fields.map(({name}) => name), batches: batches(), end: () => client.end()}
}

/** Returns a query for the extended protocol, which refuses a second statement. The types of pg do not know this option. */
const oneStatement = (text: string): pg.QueryConfig => Object.assign({text}, {queryMode: 'extended'})

type ClientInput = Omit<QueryInput, 'query' | 'statementSeconds'>

/** pg sends these parameters to the server. Its types do not know them. */
type WithParameters = pg.Client & {connectionParameters: {options: string | undefined; replication: string | undefined}}

/** Opens a client. Sets everything that pg would otherwise read from the environment of the process. */
const openClient = ({socket, tls, host, user, password, database}: ClientInput): pg.Client => {
  const client = new pg.Client({
    host,
    user,
    password,
    database,
    sslnegotiation: 'postgres',
    application_name: 'lading',
    connectionTimeoutMillis: connectSeconds * 1000,
    ssl: tls === null ? false : {rejectUnauthorized: true, ...(tls.ca !== undefined && {ca: tls.ca})},
    stream: () => withoutConnect(socket),
  })
  // pg replaces an empty option by PGOPTIONS or PGREPLICATION of the process, so both are emptied here.
  Object.assign((client as WithParameters).connectionParameters, {options: undefined, replication: undefined})
  // Without a listener, Node would end the process. The running query fails with the same error.
  client.on('error', () => {})
  if (tls === null) guardClient(socket, client)
  else client.connection.once('sslconnect', () => guardClient(client.connection.stream, client))
  return client
}

/** Replaces `connect` of the socket, which pg calls. The socket is connected already, to an address that was checked. */
const withoutConnect = (socket: Socket): Socket =>
  Object.assign(socket, {
    connect() {
      process.nextTick(() => socket.emit('connect'))
      return socket
    },
  })

/** Limits the bytes of one answer, because pg holds a whole answer in memory. */
const guardClient = (stream: Duplex, client: pg.Client) => {
  const release = guardStream(stream)
  client.connection.on('readyForQuery', () => release())
}

const fetchBatch = (client: pg.Client, rows: number) =>
  client.query<QueryCell[]>({text: `fetch ${rows} from lading_rows`, rowMode: 'array', types: asText})

const asText = {getTypeParser: () => (text: string) => text}

/** Finds the array types of the result. Leaves out types whose elements have another separator than a comma, such as `box[]`: they stay text. */
const findArrayTypes = async (client: pg.Client, fields: readonly pg.FieldDef[]): Promise<ArrayTypes> => {
  const {rows} = await client.query<[string, string]>({
    text: `select a.oid, e.oid from pg_catalog.pg_type a join pg_catalog.pg_type e on e.oid = a.typelem and e.typarray = a.oid
           where e.typdelim = ',' and a.oid = any($1::oid[])`,
    values: [fields.map(({dataTypeID}) => dataTypeID)],
    rowMode: 'array',
    types: asText,
  })
  return new Map(rows.map(([array, element]) => [Number(array), Number(element)]))
}
