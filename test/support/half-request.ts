import {connect, type Socket} from 'node:net'

/**
 * A connection on which the test writes a request piece by piece, as a client that breaks the protocol. `answer`: everything received until
 * the connection closes.
 */
export type HalfRequest = {send(text: string | Buffer): void; answer: Promise<string>; socket: Socket}

export const openHalfRequest = (url: string): HalfRequest => {
  const {hostname, port} = new URL(url)
  const socket = connect({host: hostname, port: Number(port)})
  const {promise, resolve} = Promise.withResolvers<string>()
  let text = ''
  socket.setEncoding('utf8').on('data', chunk => (text += chunk))
  socket.on('error', () => {}).once('close', () => resolve(text))
  return {send: part => socket.write(part), answer: promise, socket}
}

/** Parses the status, lower-case headers and body of a raw response. */
export const readAnswer = (text: string) => {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return {status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), head: head.toLowerCase(), body: body ? JSON.parse(body) : null}
}
