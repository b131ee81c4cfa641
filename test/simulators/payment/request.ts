import type {IncomingHttpHeaders, IncomingMessage} from 'node:http'

export type Request = {method: string; path: string; query: string; headers: IncomingHttpHeaders; body: string}

const longest = 1024 * 1024

export const readRequest = async (incoming: IncomingMessage): Promise<Request> => {
  const [path = '/', ...query] = (incoming.url ?? '/').split('?')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > longest) throw new TypeError('The body is too long')
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks).toString()
  return {method: incoming.method ?? 'GET', path, query: query.join('?'), headers: incoming.headers, body}
}
