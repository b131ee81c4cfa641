import {createServer, type IncomingMessage, request, type ServerResponse} from 'node:http'
import type {AddressInfo, Socket} from 'node:net'
import type {Begun} from '../deployment.ts'

/** What the CRM answered, in full. */
export type Whole = {status: number; text: string}
/** The bytes that are sent in its place, and whether the connection ends with them. */
export type Raw = {bytes(answer: Whole): string | Buffer; ends?: boolean}
type Aim = {method: string; path: string}

/**
 * A wire in front of the CRM's stand-in that passes everything on; the next call that is aimed at is done by the CRM and answered with
 * bytes of ours, whatever HTTP says of them.
 */
export const openRawCrm = async (begun: Begun) => {
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
    /** Where the stand-in listens. */
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
  // Its caller may hang up in the middle of them.
  socket.on('error', () => {}).end(sent)
}
