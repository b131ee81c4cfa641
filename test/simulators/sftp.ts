import {createHash, timingSafeEqual} from 'node:crypto'
import {once} from 'node:events'
import type {AddressInfo} from 'node:net'
import ssh2, {type AuthContext, type Connection, type SFTPWrapper} from 'ssh2'

type Options = {user: string; password?: string; publicKey?: string; byQuestions?: boolean}
type HeldSession = {content: Buffer; mtime: number; isFolder?: boolean; isLocked?: boolean; shownSize?: number}

const {OK, EOF, NO_SUCH_FILE, PERMISSION_DENIED, FAILURE} = ssh2.utils.sftp.STATUS_CODE

/**
 * Starts an SFTP server over SSH with one user, files in memory and a new host key. `signIns` lists sign-in attempts. `onRead` is called
 * before each read; if it returns false, the read is never answered.
 */
export const startSftp = async ({user, password, publicKey, byQuestions = false}: Options) => {
  const files = new Map<string, HeldSession>()
  const signIns: string[] = []
  const faults: {onRead?: (at: number) => boolean; mostPerRead?: number} = {}
  const hostKey = makeKeys()
  const connections = new Set<Connection>()

  const isWelcome = (context: AuthContext) => {
    if (context.username !== user) return false
    if (context.method === 'password') return !byQuestions && context.password === password
    if (context.method !== 'publickey' || publicKey === undefined) return false
    const known = ssh2.utils.parseKey(publicKey)
    if (known instanceof Error || !sameBytes(context.key.data, known.getPublicSSH())) return false
    return !context.signature || known.verify(context.blob!, context.signature, context.hashAlgo) === true
  }

  const server = new ssh2.Server({hostKeys: [hostKey.private]}, connection => {
    connections.add(connection)
    connection
      .on('error', () => {})
      .on('close', () => connections.delete(connection))
      .on('authentication', context => {
        signIns.push(`${context.method} ${context.username}`)
        if (isWelcome(context)) return context.accept()
        if (context.method !== 'keyboard-interactive' || !byQuestions)
          return context.reject(['publickey', 'password', 'keyboard-interactive'])
        context.prompt([{prompt: 'Password: ', echo: false}], ([given]) => (given === password ? context.accept() : context.reject()))
      })
      .on('ready', () => connection.on('session', accept => accept().on('sftp', start => serve(start(), {files, faults}))))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const key = ssh2.utils.parseKey(hostKey.public)
  if (key instanceof Error) throw key
  const stop = async () => {
    for (const connection of connections) connection.end()
    await new Promise(resolve => server.close(resolve))
  }
  const {port} = server.address() as AddressInfo
  return {port, files, signIns, faults, fingerprint: fingerprintOf(key.getPublicSSH()), connected: () => connections.size, stop}
}

type ServedFiles = {files: Map<string, HeldSession>; faults: {onRead?: (at: number) => boolean; mostPerRead?: number}}

const serve = (sftp: SFTPWrapper, {files, faults}: ServedFiles) => {
  const open: HeldSession[] = []
  const heldBy = (handle: Buffer) => open[handle.readUInt32BE()]
  sftp
    .on('OPEN', (id, path) => {
      const held = files.get(path)
      if (!held || held.isLocked) return sftp.status(id, held ? PERMISSION_DENIED : NO_SUCH_FILE)
      const handle = Buffer.alloc(4)
      handle.writeUInt32BE(open.push(held) - 1)
      sftp.handle(id, handle)
    })
    .on('FSTAT', (id, handle) => {
      const held = heldBy(handle)
      if (!held) return sftp.status(id, FAILURE)
      const {content, mtime, isFolder, shownSize = content.length} = held
      sftp.attrs(id, {mode: isFolder ? 0o040755 : 0o100644, uid: 0, gid: 0, size: shownSize, atime: mtime, mtime})
    })
    .on('READ', (id, handle, at, bytes) => {
      const held = heldBy(handle)
      if (!held) return sftp.status(id, FAILURE)
      if (faults.onRead && !faults.onRead(at)) return
      const piece = held.content.subarray(at, at + Math.min(bytes, faults.mostPerRead ?? bytes))
      if (piece.length) sftp.data(id, piece)
      else sftp.status(id, EOF)
    })
    .on('CLOSE', id => sftp.status(id, OK))
}

type Sealing = {passphrase: string; cipher: string; rounds: number}

/** Generates a pair of keys that ssh2 can read. One in 256 keys that it generates lacks a byte (mscdex/ssh2 issue 1513). */
export const makeKeys = (sealing?: Sealing) => {
  for (let tries = 0; tries < 10; tries++) {
    const made = sealing ? ssh2.utils.generateKeyPairSync('ed25519', sealing) : ssh2.utils.generateKeyPairSync('ed25519')
    const read = [ssh2.utils.parseKey(made.public), ssh2.utils.parseKey(made.private, sealing?.passphrase)]
    if (!read.some(key => key instanceof Error)) return made
  }
  throw new Error('None of ten pairs of keys can be read')
}

/** Returns the fingerprint as `ssh-keygen -lf` prints it. */
const fingerprintOf = (key: Buffer) => `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
const sameBytes = (one: Buffer, other: Buffer) => one.length === other.length && timingSafeEqual(one, other)
