import {EXIT} from './exit-codes.ts'
import {Failure} from './failure.ts'

/** The abort reason after a process signal. `exit` is the exit code that shells expect. */
export class Interrupted extends Failure {
  override name = 'Interrupted'

  constructor(exit: number) {
    super('Interrupted', {exit, code: 'INTERRUPTED', next: 'Run the same command again'})
  }
}

/** Returns the failure of an interrupted command. `reason` is the reason of the aborted signal. */
export const interrupted = (reason: unknown, message: string, next: string | null, detail?: object) =>
  new Failure(message, {exit: reason instanceof Interrupted ? reason.exit : EXIT.interrupted, code: 'INTERRUPTED', next, detail})

/** The signals of Ctrl-C, of `kill` or CI, and of a closed terminal, with their exit codes. */
const SIGNALS = {SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp} as const

/** npm forwards the Ctrl-C that the terminal has already sent. So signals within this time count as one. */
const onePressMs = 400

/**
 * Handles the signals of this process. A signal ends a command at once. A command that called `take` handles the first signal itself; a
 * second one ends it.
 */
export const openInterrupt = (quit: (code: number) => void = code => process.exit(code), now = () => performance.now()) => {
  const controller = new AbortController()
  let isTaken = false
  let abortedAt = -Infinity
  for (const [name, exit] of Object.entries(SIGNALS))
    process.on(name, () => {
      if (isTaken && !controller.signal.aborted) {
        abortedAt = now()
        controller.abort(new Interrupted(exit))
      } else if (now() - abortedAt >= onePressMs) quit(exit)
    })
  return {
    take(): AbortSignal {
      isTaken = true
      return controller.signal
    },
  }
}
