import {createServer, type IncomingMessage, request, type ServerResponse} from 'node:http'
import type {AddressInfo, Socket} from 'node:net'
import type {StartedParts} from '../support/deployment.ts'

/** The complete answer of the CRM. */
export type RawCrmInput = {status: number; text: string}
/** `bytes`: returns what is sent instead of an answer. `ends`: whether the connection ends after these bytes. */
export type Raw = {bytes(answer: RawCrmInput): string | Buffer; ends?: boolean}
type Aim = {method: string; path: string}

/**
 * Starts a proxy in front of the CRM stand-in. The CRM executes the next call that matches an aim. The proxy then answers the given bytes, which
 * need not be valid HTTP.
 */
export const openRawCrm = async (begun: StartedParts) => {
  const armed: {aim: Aim; raw: Raw}[] = []
  let target = ''
  const server = createServer((incoming, outgoing) => {
    const at = armed.findIndex(({aim}) => aim.method === incoming.method && aim.path === incoming.url)
    const [found] = at < 0 ? [] : armed.splice(at, 1)
    passOn(target, incoming, outgoing, found?.raw)
  })
  const urlOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  begun(async () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: urlOf(),
    /** Sets the address of the stand-in. */
    lead(to: string) {
      target = to
    },
    arm: (aim: Aim, raw: Raw) => void armed.push({aim, raw}),
  }
}

const passOn = (target: string, incoming: IncomingMessage, outgoing: ServerResponse, raw: Raw | undefined) => {
  const {method, url, headers} = incoming
  const passed = request(`${target}${url}`, {method, headers}, answer => {
    if (raw) return void answerRaw(incoming.socket, answer, raw)
    outgoing.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(outgoing)
  })
  passed.on('error', () => outgoing.destroy())
  incoming.pipe(passed)
}

const textOf = async (answer: IncomingMessage): Promise<string> => {
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

const answerRaw = async (socket: Socket, answer: IncomingMessage, {bytes, ends}: Raw) => {
  const sent = bytes({status: answer.statusCode!, text: await textOf(answer)})
  if (!ends) return void socket.write(sent)
  // The caller may close the connection before the bytes are written.
  socket.on('error', () => {}).end(sent)
}
