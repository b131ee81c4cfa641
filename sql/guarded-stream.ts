import type {Duplex} from 'node:stream'

/** Thrown if more bytes of a server's answer arrived than may be in memory. */
export class AnswerTooLarge extends Error {
  override name = 'AnswerTooLarge'
}

/** Thrown if a server sent bytes that its protocol does not allow. */
export class MalformedAnswer extends Error {
  override name = 'MalformedAnswer'
}

const mostBytes = 64 * 1024 * 1024

/**
 * Destroys the stream if a `data` listener throws, or if more than 64 MiB are not released. The parsers of database drivers throw at malformed
 * bytes, and an error in a listener would end the process. Returns a function that releases processed bytes; without an argument, all bytes.
 */
export const guardStream = (stream: Duplex): ((released?: number) => void) => {
  let waiting = 0
  const emit = stream.emit.bind(stream) as (name: string | symbol, ...given: unknown[]) => boolean
  const close = (error: Error) => {
    stream.destroy(error)
    return true
  }
  stream.emit = (name: string | symbol, ...given: unknown[]) => {
    if (name !== 'data') return emit(name, ...given)
    waiting += (given[0] as Uint8Array).length
    if (waiting > mostBytes) return close(new AnswerTooLarge(`More than ${mostBytes} bytes wait`))
    try {
      return emit(name, ...given)
    } catch (cause) {
      return close(new MalformedAnswer('The bytes of the server could not be read', {cause}))
    }
  }
  return (released = waiting) => {
    waiting = Math.max(0, waiting - released)
  }
}
