import {EXIT} from './exit-codes.ts'
import {Failure} from './failure.ts'

/** What a signal aborts with; `exit` is what shells expect of a process that it ended. */
export class Interrupted extends Error {
  override name = 'Interrupted'
  readonly exit: number

  constructor(exit: number) {
    super('Interrupted')
    this.exit = exit
  }
}

/** `reason`: of the signal that was aborted. */
export const interrupted = (reason: unknown, message: string, next: string | null, detail?: object) =>
  new Failure(message, {exit: reason instanceof Interrupted ? reason.exit : EXIT.interrupted, code: 'INTERRUPTED', next, detail})

/** Ctrl-C, `kill` and a CI that stops a job, a terminal that is closed. */
const SIGNALS = {SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp} as const

/**
 * A signal ends a command at once, unless it has something to say first: that one takes the signal, and a second one ends it as it is.
 */
export const openInterrupt = (quit: (code: number) => void = code => process.exit(code)) => {
  const controller = new AbortController()
  let isTaken = false
  for (const [name, exit] of Object.entries(SIGNALS))
    process.on(name, () => {
      if (!isTaken || controller.signal.aborted) quit(exit)
      else controller.abort(new Interrupted(exit))
    })
  return {
    take(): AbortSignal {
      isTaken = true
      return controller.signal
    },
  }
}
