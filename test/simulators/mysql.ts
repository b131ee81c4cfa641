import {createHash, randomBytes} from 'node:crypto'
import {once} from 'node:events'
import {type AddressInfo, createServer, type Socket} from 'node:net'
import type {Duplex} from 'node:stream'
import {TLSSocket} from 'node:tls'

// Source of the message formats: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html

/** `[name, type, character set]`. The type is a value of `enum_field_types`. */
export type MysqlColumn = [name: string, type: number, charset: number]
export type MysqlAnswer =
  | 'ok'
  | {columns: MysqlColumn[]; rows: Iterable<(string | Buffer | null)[]>}
  | {error: [number: number, state: string, message: string]}
  /** Sends the bytes unchanged. */
  | {raw: Buffer}

type Options = {
  user: string
  password: string
  database: string
  /** Answers a statement. SET, START TRANSACTION and `select version()` never reach this function. */
  answer(sql: string): MysqlAnswer | Promise<MysqlAnswer>
  version?: string
  tls?: {cert: string; key: string}
}

/** Starts a server that speaks the MySQL protocol with `mysql_native_password` and TLS. `statements`: every statement it received. */
export const startMysql = async (options: Options) => {
  const statements: string[] = []
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('error', () => {}).on('close', () => open.delete(socket))
    serve(socket, options, statements).catch(() => socket.destroy())
  })
  await new Promise<void>(done => void server.listen(0, '127.0.0.1', done))
  const stop = async () => {
    for (const socket of open) socket.destroy()
    await new Promise(done => server.close(done))
  }
  return {port: (server.address() as AddressInfo).port, statements, connections: () => open.size, stop}
}

const [clientProtocol41, clientSsl, clientSecure, clientPlugin, clientDatabase] = [0x200, 0x800, 0x8000, 0x80000, 0x8]
const [comQuit, comQuery] = [0x01, 0x03]
const utf8mb4 = 45
const autocommit = 0x0002

const serve = async (socket: Socket, options: Options, statements: string[]) => {
  const nonce = Buffer.from(randomBytes(20).map(byte => (byte % 93) + 33))
  let wire = openWire(socket)
  wire.send(greetingOf(nonce, options), 0)
  let reply = await wire.read()
  if (reply.payload.length === 32 && options.tls) {
    wire.leave()
    wire = openWire(new TLSSocket(socket, {isServer: true, ...options.tls}).on('error', () => socket.destroy()))
    reply = await wire.read()
  }
  const refusal = refusalOf(reply.payload, nonce, options)
  wire.send(refusal ?? ok, reply.sequence + 1)
  if (refusal) return void socket.end()
  for (;;) {
    const {payload} = await wire.read()
    if (payload[0] === comQuit) return void socket.end()
    if (payload[0] !== comQuery) throw new Error(`Unknown command ${payload[0]}`)
    const sql = payload.toString('utf8', 1)
    statements.push(sql)
    await wire.answer(isSetting(sql) ? 'ok' : sql === 'select version()' ? versionOf(options) : await options.answer(sql))
  }
}

const isSetting = (sql: string) => /^(set|start transaction)\b/.test(sql)

const versionOf = ({version = '8.4.3'}: Options): MysqlAnswer => ({columns: [['version()', 253, utf8mb4]], rows: [[version]]})

const greetingOf = (nonce: Buffer, {version = '8.4.3', tls}: Options) => {
  const flags = clientProtocol41 | clientSecure | clientPlugin | clientDatabase | (tls ? clientSsl : 0)
  return Buffer.concat([
    Buffer.from([10]),
    text0(version),
    int(1, 4),
    nonce.subarray(0, 8),
    Buffer.alloc(1),
    int(flags & 0xffff, 2),
    Buffer.from([utf8mb4]),
    int(autocommit, 2),
    int(flags >>> 16, 2),
    Buffer.from([21]),
    Buffer.alloc(10),
    nonce.subarray(8),
    Buffer.alloc(1),
    text0('mysql_native_password'),
  ])
}

/** Checks a `HandshakeResponse41`. Returns the error for a wrong user, password or database, or null. */
const refusalOf = (payload: Buffer, nonce: Buffer, {user, password, database}: Options): Buffer | null => {
  const userEnd = payload.indexOf(0, 32)
  const answerEnd = userEnd + 2 + payload[userEnd + 1]!
  const given = payload.subarray(userEnd + 2, answerEnd)
  const asked = payload.toString('utf8', answerEnd, payload.indexOf(0, answerEnd))
  const hash = sha1(Buffer.from(password))
  const mask = sha1(Buffer.concat([nonce, sha1(hash)]))
  const expected = hash.map((byte, at) => byte ^ mask[at]!)
  const isKnown = payload.toString('utf8', 32, userEnd) === user && given.equals(expected)
  if (!isKnown) return errorOf(1045, '28000', `Access denied for user '${user}'@'localhost' (using password: YES)`)
  return asked === database ? null : errorOf(1049, '42000', `Unknown database '${asked}'`)
}

const sha1 = (bytes: Uint8Array) => createHash('sha1').update(bytes).digest()

const openWire = (stream: Duplex) => {
  let buffer: Buffer = Buffer.alloc(0)
  let wake = () => {}
  let isClosed = false
  const receive = (bytes: Buffer) => {
    buffer = Buffer.concat([buffer, bytes])
    wake()
  }
  stream.on('data', receive).on('close', () => {
    isClosed = true
    wake()
  })
  const take = async (length: number) => {
    while (buffer.length < length) {
      if (isClosed) throw new Error('The client left')
      await new Promise<void>(done => (wake = done))
    }
    const taken = buffer.subarray(0, length)
    buffer = buffer.subarray(length)
    return taken
  }
  const send = (payload: Buffer, sequence: number) =>
    stream.write(Buffer.concat([int(payload.length, 3), Buffer.from([sequence & 255]), payload]))
  return {
    send,
    async read() {
      const head = await take(4)
      return {sequence: head[3]!, payload: await take(head.readUIntLE(0, 3))}
    },
    async answer(answer: MysqlAnswer) {
      if (answer === 'ok') return void send(ok, 1)
      if ('raw' in answer) return void stream.write(answer.raw)
      if ('error' in answer) return void send(errorOf(...answer.error), 1)
      let sequence = 1
      const {columns, rows} = answer
      for (const payload of [Buffer.from([columns.length]), ...columns.map(columnOf), eof]) send(payload, sequence++)
      for (const row of rows)
        if (!send(Buffer.concat(row.map(cellOf)), sequence++)) await Promise.race([once(stream, 'drain'), once(stream, 'close')])
      send(eof, sequence)
    },
    /** Stops reading and puts unread bytes back, so that another reader such as TLS can continue. */
    leave() {
      stream.off('data', receive).pause()
      stream.unshift(buffer)
    },
  }
}

const int = (value: number, bytes: number) => {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntLE(value, 0, bytes)
  return buffer
}
const text0 = (text: string) => Buffer.from(`${text}\0`)
const lenencInt = (value: number) =>
  value < 251
    ? Buffer.from([value])
    : value < 65_536
      ? Buffer.concat([Buffer.from([0xfc]), int(value, 2)])
      : Buffer.concat([Buffer.from([0xfd]), int(value, 3)])
const lenenc = (bytes: Buffer) => Buffer.concat([lenencInt(bytes.length), bytes])
const cellOf = (cell: string | Buffer | null) => (cell === null ? Buffer.from([0xfb]) : lenenc(Buffer.from(cell)))
const ok = Buffer.from([0x00, 0, 0, autocommit, 0, 0, 0])
const eof = Buffer.from([0xfe, 0, 0, autocommit, 0])
const errorOf = (number: number, state: string, message: string) =>
  Buffer.concat([Buffer.from([0xff]), int(number, 2), Buffer.from(`#${state}${message}`)])
const columnOf = ([name, type, charset]: MysqlColumn) =>
  Buffer.concat([
    ...['def', '', '', '', name, name].map(text => lenenc(Buffer.from(text))),
    Buffer.from([0x0c]),
    int(charset, 2),
    int(255, 4),
    Buffer.from([type, 0, 0, 0, 0, 0]),
  ])
