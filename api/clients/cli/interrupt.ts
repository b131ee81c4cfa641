import {EXIT} from './exit-codes.ts'
import {Failure} from './failure.ts'

/** What a signal aborts with. */
export class Interrupted extends Error {
  override name = 'Interrupted'
}

export const interrupted = (message: string, next: string | null, detail?: object) =>
  new Failure(message, {exit: EXIT.interrupted, code: 'INTERRUPTED', next, detail})

/**
 * Ctrl-C ends a command at once, unless it has something to say first: that one takes the signal, and a second Ctrl-C ends it as it is.
 */
export const openInterrupt = (quit: (code: number) => void = code => process.exit(code)) => {
  const controller = new AbortController()
  let isTaken = false
  process.on('SIGINT', () => {
    if (!isTaken || controller.signal.aborted) quit(EXIT.interrupted)
    else controller.abort(new Interrupted())
  })
  return {
    take(): AbortSignal {
      isTaken = true
      return controller.signal
    },
  }
}
