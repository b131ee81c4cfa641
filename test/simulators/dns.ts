import {createSocket} from 'node:dgram'
import {Resolver} from 'node:dns/promises'
import {once} from 'node:events'
import {isIPv4} from 'node:net'

/**
 * Starts a name server on the loopback interface. Each query of a record type gets the addresses of the next round. After the last round, every
 * query gets the last round. Source: RFC 1035, 4; RFC 3596.
 */
export const startDns = async (rounds: string[][]) => {
  const asked = {A: 0, AAAA: 0}
  const socket = createSocket('udp4').on('message', (message, {port, address}) => {
    const kind = message.readUInt16BE(endOfName(message)) === 28 ? 'AAAA' : 'A'
    const round = rounds[Math.min(asked[kind]++, rounds.length - 1)]!
    socket.send(
      answer(
        message,
        round.filter(one => isIPv4(one) === (kind === 'A')),
      ),
      port,
      address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({timeout: 1_000, tries: 1})
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  const resolve = async (host: string) => {
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    return found.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
  }
  return {asked, resolve, stop: async () => void socket.close()}
}

const endOfName = (message: Buffer) => message.indexOf(0, 12) + 1

const answer = (question: Buffer, addresses: string[]) => {
  const head = Buffer.from(question.subarray(0, 12))
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt16BE(0, 8)
  head.writeUInt16BE(0, 10)
  return Buffer.concat([head, question.subarray(12, endOfName(question) + 4), ...addresses.map(record)])
}

/** Returns a record with a time to live of zero, so that resolvers do not cache it. */
const record = (address: string) => {
  const data = Buffer.from(isIPv4(address) ? address.split('.').map(Number) : groupsOf(address).flatMap(group => [group >> 8, group & 255]))
  const fixed = [0xc0, 12, 0, isIPv4(address) ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length]
  return Buffer.concat([Buffer.from(fixed), data])
}

const groupsOf = (address: string) => {
  const [left, right] = address.split('::').map(half =>
    half
      .split(':')
      .filter(Boolean)
      .map(group => Number.parseInt(group, 16)),
  )
  return [...left!, ...Array<number>(8 - left!.length - (right?.length ?? 0)).fill(0), ...(right ?? [])]
}
