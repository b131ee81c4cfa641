import {once} from 'node:events'
import {type AddressInfo, connect, createServer, type Socket} from 'node:net'

type Loss = {statement: string; nth: number; times: number; when: 'before' | 'after' | 'commit'}

/**
 * A proxy to Postgres that loses chosen statements or their answers, and then cuts the connection. A test chooses a statement by its name
 * or text.
 */
export type PostgresProxy = {
  url: string
  /**
   * Loses a statement `times` times, from the `nth` execution on. `before`: Postgres does not receive it. `after`: Postgres commits it, and
   * the answer is lost. `commit`: the answer to the commit of its transaction is lost.
   */
  lose(statement: string, loss?: Partial<Omit<Loss, 'statement'>>): void
  lost(statement: string): number
  /** Disconnects the clients that wait for this statement. Postgres continues to execute it. */
  sever(statement: string): void
  restore(): void
  close(): Promise<void>
}

/** The connection of one client. `asked`: its last message without an answer. */
type Wire = {client: Socket; asked: Buffer | null}

export const openPostgresProxy = async (target: string): Promise<PostgresProxy> => {
  const {hostname, port} = new URL(target)
  const wires = new Set<Wire>()
  const losses: Counted[] = []

  const findLoss = (sent: Buffer) => {
    for (const loss of losses) {
      if (loss.times === 0 || !binds(sent, loss.statement) || --loss.nth > 0) continue
      loss.times--
      if (loss.when !== 'commit') loss.lost++
      return loss
    }
    return null
  }

  const server = createServer(client => {
    const behind = connect({host: hostname, port: Number(port)})
    const wire: Wire = {client, asked: null}
    const fate = openFate(findLoss)
    wires.add(wire)
    client.on('error', () => {}).once('close', () => behind.destroy() && wires.delete(wire))
    behind.on('error', () => {}).once('close', () => client.destroy())
    client.on('data', sent => {
      if (fate.isLostNow(sent)) return client.destroy()
      wire.asked = sent
      behind.write(sent)
    })
    // Postgres answers a single statement only after its commit.
    behind.on('data', answer => {
      wire.asked = null
      if (fate.isDoomed()) client.destroy()
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
    restore: () => {
      for (const loss of losses) loss.times = 0
    },
    async close() {
      for (const {client} of wires) client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

type Counted = Loss & {lost: number}

/** Decides for one connection whether a message is lost, and whether the next answer is lost. */
const openFate = (findLoss: (sent: Buffer) => Counted | null) => {
  let doomed = false
  let atCommit: Counted | null = null
  return {
    isDoomed: () => doomed,
    isLostNow(sent: Buffer): boolean {
      if (doomed) return false
      const loss = findLoss(sent)
      if (loss?.when === 'commit') atCommit = loss
      else if (atCommit && sent.includes('COMMIT')) {
        atCommit.lost++
        doomed = true
      }
      doomed ||= loss?.when === 'after'
      return loss?.when === 'before'
    },
  }
}

/**
 * Whether a message executes the statement. A Bind message has an empty portal name, then the statement's name; it is sent in one piece
 * with its values. A statement without a name is recognised by its text.
 */
const binds = (sent: Buffer, statement: string) => {
  if (statement.includes(' ')) return sent.includes(statement)
  const name = `\0${statement}\0`
  for (let at = sent.indexOf(name); at >= 0; at = sent.indexOf(name, at + 1)) if (at >= 5 && sent[at - 5] === 'B'.charCodeAt(0)) return true
  return false
}
