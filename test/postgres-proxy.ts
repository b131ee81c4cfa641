import {once} from 'node:events'
import {type AddressInfo, connect, createServer, type Socket} from 'node:net'

type Loss = {statement: string; nth: number; times: number; when: 'before' | 'after'}

/** A wire to Postgres that loses chosen statements, or their answers, and the connection with them. Each by its name, or by words of its text. */
export type PostgresProxy = {
  url: string
  /** `before`: Postgres never hears of it. `after`: it is committed, and the answer does not come. Begins with the `nth` from now. */
  lose(statement: string, loss?: Partial<Omit<Loss, 'statement'>>): void
  /** How many were lost. */
  lost(statement: string): number
  /** Cuts off whoever waits for this statement now; Postgres works on. */
  sever(statement: string): void
  /** Nothing more is lost. */
  mend(): void
  close(): Promise<void>
}

/** `asked`: what was sent last and has no answer yet. */
type Wire = {client: Socket; asked: Buffer | null}

export const openPostgresProxy = async (target: string): Promise<PostgresProxy> => {
  const {hostname, port} = new URL(target)
  const wires = new Set<Wire>()
  const losses: (Loss & {lost: number})[] = []

  const fateOf = (sent: Buffer): Loss['when'] | null => {
    for (const loss of losses) {
      if (loss.times === 0 || !binds(sent, loss.statement) || --loss.nth > 0) continue
      loss.times--
      loss.lost++
      return loss.when
    }
    return null
  }

  const server = createServer(client => {
    const behind = connect({host: hostname, port: Number(port)})
    const wire: Wire = {client, asked: null}
    let doomed = false
    wires.add(wire)
    client.on('error', () => {}).once('close', () => behind.destroy() && wires.delete(wire))
    behind.on('error', () => {}).once('close', () => client.destroy())
    client.on('data', sent => {
      const fate = doomed ? null : fateOf(sent)
      if (fate === 'before') return client.destroy()
      doomed ||= fate === 'after'
      wire.asked = sent
      behind.write(sent)
    })
    // Postgres answers a statement sent by itself only when it is committed.
    behind.on('data', answer => {
      wire.asked = null
      if (doomed) client.destroy()
      else client.write(answer)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    lose: (statement, {nth = 1, times = 1, when = 'after'} = {}) => void losses.push({statement, nth, times, when, lost: 0}),
    lost: statement => losses.filter(loss => loss.statement === statement).reduce((sum, {lost}) => sum + lost, 0),
    sever: statement => {
      for (const {client, asked} of wires) if (asked && binds(asked, statement)) client.destroy()
    },
    mend: () => {
      for (const loss of losses) loss.times = 0
    },
    async close() {
      for (const {client} of wires) client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A Bind message names an empty portal, then the statement. A query is sent in one piece, its values last. One without a name is known by its text. */
const binds = (sent: Buffer, statement: string) => {
  if (statement.includes(' ')) return sent.includes(statement)
  const name = `\0${statement}\0`
  for (let at = sent.indexOf(name); at >= 0; at = sent.indexOf(name, at + 1)) if (at >= 5 && sent[at - 5] === 'B'.charCodeAt(0)) return true
  return false
}
