import {type AddressInfo, createServer, type Socket} from 'node:net'
import {createInterface} from 'node:readline'

export type Letter = {from: string; to: string[]; text: string}

/** Replies to MAIL by sender and to RCPT by recipient, such as `450 try again` or `550 no such mailbox`. The default is 250. */
type Refusals = Map<string, string>

/** Starts a mail server by RFC 5321, as far as a submitting client needs it: no TLS, no sign-in, state in memory. */
export const startSmtp = async () => {
  const letters: Letter[] = []
  const refusals: Refusals = new Map()
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    void converse(socket, letters, refusals)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    letters,
    refuse: (address: string, reply: string | null) => void (reply === null ? refusals.delete(address) : refusals.set(address, reply)),
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
export type Smtp = Awaited<ReturnType<typeof startSmtp>>

const converse = async (socket: Socket, letters: Letter[], refusals: Refusals) => {
  const say = (line: string) => socket.write(`${line}\r\n`)
  let letter: Letter = {from: '', to: [], text: ''}
  let lines: string[] | null = null
  say('220 stand-in ESMTP')
  for await (const line of createInterface({input: socket})) {
    if (lines !== null) {
      if (line !== '.') {
        lines.push(line.replace(/^\./, ''))
        continue
      }
      letters.push({...letter, text: lines.join('\n')})
      lines = null
      say('250 taken')
      continue
    }
    const [, address = ''] = /<(.*)>/.exec(line) ?? []
    const verb = line.split(/[ :]/)[0]!.toUpperCase()
    if (verb === 'MAIL') letter = {from: address, to: [], text: ''}
    const refusal = ['MAIL', 'RCPT'].includes(verb) ? refusals.get(address) : undefined
    if (verb === 'RCPT' && !refusal) letter.to.push(address)
    if (verb === 'DATA') lines = []
    say(verb === 'DATA' ? '354 go on' : verb === 'QUIT' ? '221 bye' : (refusal ?? '250 ok'))
    if (verb === 'QUIT') socket.end()
  }
}
