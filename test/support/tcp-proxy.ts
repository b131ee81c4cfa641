import {once} from 'node:events'
import {type AddressInfo, connect, createServer, type Socket} from 'node:net'
import {setTimeout as sleep} from 'node:timers/promises'

/** How slow the network is in each direction: the delay of each piece, and the bytes per second. */
export type Weather = {latencyMs?: number; bytesPerSecond?: number}

/** A proxy that a test can cut, stall and slow down. */
export type Proxy = {
  url: string
  cut(): void
  /** Stops all traffic, like a pulled cable. Connections stay open and new ones are accepted, but nothing passes until `restore`. */
  silence(): void
  /** Leaves the current connections open without an answer, like a crashed server. New connections work. */
  halfOpen(): void
  slow(weather: Weather): void
  aim(target: string): void
  /** Restores normal operation. Ended connections and those left open by `halfOpen` stay as they are. */
  restore(): void
  count(): number
  close(): Promise<void>
}

type State = {isCut: boolean; weather: Weather; silent: PromiseWithResolvers<void> | null}

export const openProxy = async (target: string): Promise<Proxy> => {
  let {hostname, port} = new URL(target)
  const pairs = new Set<readonly [client: Socket, behind: Socket]>()
  const state: State = {isCut: false, weather: {}, silent: null}
  const server = createServer({allowHalfOpen: true}, client => {
    if (state.isCut) return client.destroy()
    const behind = connect({host: hostname, port: Number(port), allowHalfOpen: true})
    const pair = [client, behind] as const
    pairs.add(pair)
    pump(client, behind, state)
    pump(behind, client, state)
    client.once('close', () => pairs.delete(pair))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const restore = () => {
    state.isCut = false
    state.weather = {}
    state.silent?.resolve()
    state.silent = null
  }
  const cut = () => {
    restore()
    state.isCut = true
    for (const sockets of pairs) for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut,
    restore,
    count: () => pairs.size,
    silence: () => void (state.silent ??= Promise.withResolvers()),
    halfOpen: () => {
      for (const [client, behind] of pairs) forget(client, behind)
    },
    aim: to => void ({hostname, port} = new URL(to)),
    slow: weather => void (state.weather = weather),
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The proxy pauses a sender while it holds more bytes than this in one direction. */
const mostHeld = 256 * 1024

/** Forwards data from one socket to the other, in order and with delay. */
const pump = (from: Socket, to: Socket, state: State) => {
  let held = 0
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = (act: () => Promise<unknown> | unknown) => {
    last = last.then(act).catch(() => {})
  }
  from.on('data', piece => {
    const due = performance.now() + (state.weather.latencyMs ?? 0)
    held += piece.length
    if (held > mostHeld) from.pause()
    inTurn(async () => {
      await pass(piece, due, state)
      held -= piece.length
      if (!to.destroyed && !to.write(piece)) await Promise.race([once(to, 'drain'), once(to, 'close')])
      from.resume()
    })
  })
  from.once('end', () => inTurn(async () => void ((await state.silent?.promise) ?? to.end())))
  from.on('error', () => {})
  from.once('close', () => inTurn(() => to.destroy()))
}

const pass = async (piece: Buffer, due: number, state: State) => {
  await state.silent?.promise
  const {bytesPerSecond = Number.POSITIVE_INFINITY} = state.weather
  const waits = Math.max(due - performance.now(), 0) + (piece.length / bytesPerSecond) * 1_000
  if (waits > 0) await sleep(waits)
  // The proxy may have been stalled during the delay.
  await state.silent?.promise
}

const forget = (client: Socket, behind: Socket) => {
  behind.removeAllListeners('close')
  behind.destroy()
  client.removeAllListeners('data').on('data', () => {})
}
