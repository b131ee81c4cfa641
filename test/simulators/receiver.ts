import {createServer, type IncomingMessage, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'

export type Received = {path: string; headers: Record<string, string>; body: string}

/** The answer of a path: a status with headers and body, or no answer (`hang`). The default is 204. The answer is sent when `after` resolves. */
export type Behaviour = {status: number; headers?: Record<string, string>; body?: string; after?: Promise<void>} | 'hang'

/** Starts a webhook receiver on the loopback interface, with a path per endpoint. It uses no code of the service. */
export const startReceiver = async () => {
  const journal: Received[] = []
  const behaviours = new Map<string, Behaviour>()

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const path = incoming.url!
    journal.push({path, headers: incoming.headers as Record<string, string>, body: Buffer.concat(chunks).toString('utf8')})
    const answer = behaviours.get(path) ?? {status: 204}
    if (answer === 'hang') return
    await answer.after
    outgoing.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    /** The host and port, as `PRIVATE_HOSTS` names them. */
    place,
    url: (path: string) => `http://${place}${path}`,
    behave: (path: string, behaviour: Behaviour) => void behaviours.set(path, behaviour),
    at: (path: string) => journal.filter(received => received.path === path),
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
export type Receiver = Awaited<ReturnType<typeof startReceiver>>
