import {once} from 'node:events'
import {type AddressInfo, connect, createServer, type Socket} from 'node:net'

type Loss = {statement: string; nth: number; times: number; when: 'before' | 'after' | 'commit'}

/** A wire to Postgres that loses chosen statements, or their answers, and the connection with them. Each by its name, or by words of its text. */
export type PostgresProxy = {
  url: string
  /**
   * `before`: Postgres never hears of it. `after`: it is committed, and the answer does not come. `commit`: so the end of the transaction
   * it stands in. Begins with the `nth` from now.
   */
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
    // Postgres answers a statement sent by itself only when it is committed.
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

type Counted = Loss & {lost: number}

/** Of one connection: whether what is sent is lost now, and whether the next answer is. */
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

/** A Bind message names an empty portal, then the statement. A query is sent in one piece, its values last. One without a name is known by its text. */
const binds = (sent: Buffer, statement: string) => {
  if (statement.includes(' ')) return sent.includes(statement)
  const name = `\0${statement}\0`
  for (let at = sent.indexOf(name); at >= 0; at = sent.indexOf(name, at + 1)) if (at >= 5 && sent[at - 5] === 'B'.charCodeAt(0)) return true
  return false
}
