import {once} from 'node:events'
import type {MessagePort} from 'node:worker_threads'
import {type ParserFailure, packError, unpackError} from './failure.ts'

/** A message of the receiver to the sender: a request for the next item, or the end of the transfer. */
type PortRequest = 'next' | 'stop'
/** The sender's answer to `next`: an item, the return value of its generator, or an error. */
type PortAnswer = {item: unknown} | {result: unknown} | {failure: ParserFailure}

/** Answers each `next` at the port with an item, until the receiver has all items or stops. */
export const sendItems = async (port: MessagePort, items: AsyncIterable<unknown>): Promise<void> => {
  const iterator = items[Symbol.asyncIterator]()
  const closed = once(port, 'close')
  port.on('message', async (portRequest: PortRequest) => {
    if (portRequest === 'stop') return port.close()
    port.postMessage(await answerNext(iterator))
  })
  await closed
  await iterator.return?.()
}

const answerNext = async (iterator: AsyncIterator<unknown>): Promise<PortAnswer> => {
  try {
    const {done, value} = await iterator.next()
    // Posting a buffer copies its whole memory block, which other buffers may share. So the bytes are copied into a separate buffer.
    return done ? {result: value} : {item: value instanceof Uint8Array ? new Uint8Array(value) : value}
  } catch (error) {
    return {failure: packError(error)}
  }
}

/** Yields the items that `sendItems` sends, and returns the return value of the sender's generator. Throws if the sending thread ends early. */
export async function* receiveItems<T, Result = void>(port: MessagePort): AsyncGenerator<T, Result, undefined> {
  let closed: PortAnswer | null = null
  // All answers use one listener, because a `Promise.race` with the port's end would keep every answer in memory until the port closes.
  let settle = (_: PortAnswer) => {}
  port.on('message', (answer: PortAnswer) => settle(answer))
  port.once('close', () => {
    closed = {failure: packError(new Error('The sending thread ended'))}
    settle(closed)
  })
  try {
    for (;;) {
      const {promise, resolve} = Promise.withResolvers<PortAnswer>()
      settle = resolve
      if (closed) settle(closed)
      port.postMessage('next' satisfies PortRequest)
      const answer = await promise
      if ('failure' in answer) throw unpackError(answer.failure)
      if ('result' in answer) return answer.result as Result
      yield answer.item as T
    }
  } finally {
    port.postMessage('stop' satisfies PortRequest)
    port.close()
  }
}
