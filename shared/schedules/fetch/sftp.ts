import {createHash} from 'node:crypto'
import type {Client, ConnectConfig, SFTPWrapper, Stats} from 'ssh2'
import {startClock} from '../../crm/deadline.ts'
import type {Outbound} from '../outbound/outbound.ts'
import {SourceFailure, tooLarge} from './failure.ts'
import type {Bounds, FetchResult} from './fetch.ts'
import {nameOf} from './name.ts'
import {mostRounds, roundsOf} from './private-key.ts'
import type {FileSource} from './source.ts'

type SftpSource = Extract<FileSource, {kind: 'sftp'}>

const handshakeSeconds = 20
/** The longest wait for one answer of the server. */
const idleSeconds = 30
const pieceBytes = 32 * 1024
/** The pieces requested ahead of the reader. The latency of a distant server is thus paid once per half megabyte. */
const piecesAhead = 16

/**
 * Fetches a regular file over SSH. The server must show the host key that the source names before any credential is sent. If the size or time of
 * the file changes during the fetch, the file is still being written, and the stream throws UNREACHABLE.
 */
export const fetchSftp = async (
  outbound: Outbound,
  source: SftpSource,
  {limitBytes, timeoutSeconds, signal}: Bounds,
): Promise<FetchResult> => {
  const clock = startClock(timeoutSeconds, signal)
  const toFailure = reportFailure(source, {signal, timeoutSeconds})
  let session: Session | undefined
  const end = () => {
    clock.stop()
    session?.end()
  }
  try {
    assertOpens(source)
    session = await openSession(outbound, source, clock.signal)
    clock.signal.addEventListener('abort', end, {once: true})
    const file = await openFile(session, source, limitBytes)
    return {name: nameOf(source.path), stream: readWhole(session, file, {end, toFailure, source})}
  } catch (error) {
    end()
    throw toFailure(error)
  }
}

const assertOpens = ({privateKey = ''}: SftpSource) => {
  const rounds = roundsOf(privateKey)
  if (rounds > mostRounds)
    throw new SourceFailure(
      'SIGN_IN_REFUSED',
      `The private key needs ${rounds} rounds to open, and at most ${mostRounds} are allowed. Run \`ssh-keygen -p -a 16\` to change that`,
    )
}

type Session = {sftp: SFTPWrapper; ask: AskSftp; end(): void}
type DoneCallback<T> = (error: Error | null | undefined, value: T) => void
/** Sends one request of the protocol. Throws if the session breaks, the time runs out, or the server stops answering. */
type AskSftp = <T>(start: (done: DoneCallback<T>) => void, seconds?: number) => Promise<T>

const openSession = async (outbound: Outbound, source: SftpSource, signal: AbortSignal): Promise<Session> => {
  const {default: ssh2} = await import('ssh2')
  const sock = await outbound.connect({host: source.host, port: source.port, signal})
  const client = new ssh2.Client()
  const seen = {fingerprint: null as string | null}
  const ask = askFrom(client, signal)
  const end = () => void client.destroy()
  try {
    await ask<void>(done => {
      client.once('ready', () => done(null))
      client.connect({...configOf(source, client, seen), sock})
    }, handshakeSeconds)
    return {sftp: await ask<SFTPWrapper>(done => client.sftp(done)), ask, end}
  } catch (error) {
    end()
    sock.destroy()
    if (seen.fingerprint === null || seen.fingerprint === source.hostKey) throw error
    throw new SourceFailure(
      'HOST_KEY',
      `${source.host} shows the host key ${seen.fingerprint}, but this source names another one. Ask the operator of the server which one is right`,
      {cause: error},
    )
  }
}

const askFrom = (client: Client, signal: AbortSignal): AskSftp => {
  const waiting = new Set<(error: unknown) => void>()
  let broken: unknown
  const breakWith = (error: unknown) => {
    broken ??= error
    for (const reject of waiting) reject(broken)
  }
  client.on('error', breakWith).once('close', () => breakWith(new Error('The connection was closed')))
  signal.addEventListener('abort', () => breakWith(signal.reason), {once: true})
  return (start, seconds = idleSeconds) =>
    new Promise((resolve, reject) => {
      if (signal.aborted || broken !== undefined) return reject(broken ?? signal.reason)
      const stop = () => {
        clearTimeout(timer)
        waiting.delete(fail)
      }
      const fail = (error: unknown) => {
        stop()
        reject(error)
      }
      const timer = setTimeout(() => fail(new SourceFailure('TIMED_OUT', `The server has not answered for ${seconds} s`)), seconds * 1000)
      waiting.add(fail)
      const done = (error: Error | null | undefined, value: unknown) => {
        if (error) return fail(error)
        stop()
        resolve(value as never)
      }
      try {
        start(done)
      } catch (error) {
        fail(error)
      }
    })
}

const configOf = (source: SftpSource, client: Client, seen: {fingerprint: string | null}): ConnectConfig => {
  const {user: username, password, privateKey, passphrase} = source
  // Many servers ask for the password only by this method.
  client.on('keyboard-interactive', (_name, _instructions, _language, prompts, answer) => answer(prompts.map(() => password ?? '')))
  return {
    username,
    readyTimeout: 0,
    ...(password !== undefined && {password, tryKeyboard: true}),
    ...(privateKey !== undefined && {privateKey}),
    ...(passphrase !== undefined && {passphrase}),
    hostVerifier: (key: Buffer) => {
      seen.fingerprint = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
      return seen.fingerprint === source.hostKey
    },
  }
}

type File = {handle: Buffer; size: number; mtime: number}

const openFile = async ({sftp, ask}: Session, {path}: SftpSource, limitBytes: number): Promise<File> => {
  const handle = await ask<Buffer>(done => sftp.open(path, 'r', done))
  const stats = await ask<Stats>(done => sftp.fstat(handle, done))
  if (!stats.isFile()) throw new SourceFailure('NOT_FOUND', `${path} is not a file but something else, such as a folder`)
  if (!Number.isSafeInteger(stats.size)) throw new SourceFailure('BAD_ANSWER', `The server does not report the size of ${path}`)
  if (stats.size > limitBytes) throw tooLarge(limitBytes)
  return {handle, size: stats.size, mtime: stats.mtime}
}

type SftpContext = {end(): void; toFailure(error: unknown): unknown; source: SftpSource}

async function* readWhole(session: Session, file: File, {end, toFailure, source}: SftpContext): AsyncGenerator<Uint8Array> {
  const {sftp, ask} = session
  try {
    yield* readPieces(session, file)
    const {size, mtime} = await ask<Stats>(done => sftp.fstat(file.handle, done))
    if (size !== file.size || mtime !== file.mtime) throw changed(source)
  } catch (error) {
    throw toFailure(error)
  } finally {
    end()
  }
}

async function* readPieces(session: Session, file: File) {
  const pieces: Promise<Buffer>[] = []
  let asked = 0
  const askAhead = () => {
    for (; pieces.length < piecesAhead && asked < file.size; asked += pieceBytes) {
      const piece = readPiece(session, file, {at: asked, bytes: Math.min(pieceBytes, file.size - asked)})
      // After a failure, no code awaits the later pieces. Without this, their rejections would be unhandled.
      piece.catch(() => {})
      pieces.push(piece)
    }
  }
  for (askAhead(); pieces.length; askAhead()) yield await pieces.shift()!
}

/** Reads one piece in full, because a server may return fewer bytes than requested. If the server returns none, the file ended too early. */
const readPiece = async ({sftp, ask}: Session, {handle}: File, {at, bytes}: {at: number; bytes: number}) => {
  const piece = Buffer.alloc(bytes)
  for (let filled = 0; filled < bytes; ) {
    const from = filled
    const read = await ask<number>(done => sftp.read(handle, piece, from, bytes - from, at + from, done))
    if (read === 0) throw new SourceFailure('UNREACHABLE', 'The file ended early. It was changed during the transfer')
    filled += read
  }
  return piece
}

const changed = ({path}: SftpSource) =>
  new SourceFailure('UNREACHABLE', `${path} was changed during the transfer. It is fetched again once it is complete`)

/**
 * Returns a function that converts an error of ssh2 to a SourceFailure, by the status codes of the protocol (draft-ietf-secsh-filexfer-02, 7)
 * and ssh2's error levels. If the caller's signal is aborted, the function returns the reason of the signal.
 */
const reportFailure =
  ({host, path}: SftpSource, {signal, timeoutSeconds}: {signal: AbortSignal | undefined; timeoutSeconds: number}) =>
  (error: unknown): unknown => {
    if (signal?.aborted) return signal.reason
    const {name, message, code, level} = error as Error & {code?: unknown; level?: string}
    const failed = (as: SourceFailure['code'], says: string) => new SourceFailure(as, says, {cause: error})
    if (name === 'SourceFailure' || name === 'OutboundFailure') return error
    if (name === 'TimeoutError') return failed('TIMED_OUT', `${host} did not send the whole file within ${timeoutSeconds} s`)
    if (/^Cannot parse privateKey/.test(message)) return failed('SIGN_IN_REFUSED', 'The private key cannot be read. Check its passphrase')
    if (level === 'client-authentication') return failed('SIGN_IN_REFUSED', `${host} refused the user or the credentials`)
    if (level === 'client-timeout') return failed('TIMED_OUT', `${host} stopped answering`)
    if (code === 2) return failed('NOT_FOUND', `There is no file at ${path}`)
    if (code === 3) return failed('SIGN_IN_REFUSED', `The user may not read ${path}`)
    return failed('UNREACHABLE', `The connection to ${host} broke`)
  }
