import {join} from 'node:path'
import {watchAncestors} from './ancestors.ts'
import type {Stack} from './stack.ts'

type Foreground = {
  directory: string
  start(): Promise<Stack>
  /** Called when the stack is up. */
  onReady(stack: Stack): Promise<void>
  /** Called when the stack has stopped. */
  onStopped(): void
}

/** npm forwards the Ctrl-C that the terminal has already sent. So two signals within this time count as one. */
const onePressMs = 400

/** Runs a stack until Ctrl-C, SIGTERM, SIGHUP, the end of an ancestor process, or the end of its Postgres. Then exits the process. */
export const runInForeground = async ({directory, start, onReady, onStopped}: Foreground): Promise<void> => {
  let stack: Stack | null = null
  let askedAt = 0
  const leave = async (code: number) => {
    if (askedAt && Date.now() - askedAt < onePressMs) return
    if (askedAt) stack?.kill()
    if (askedAt || !stack) process.exit(130)
    askedAt = Date.now()
    console.log('\nStopping. Ctrl-C again stops at once.')
    await stack.stop()
    onStopped()
    process.exit(code)
  }
  watchAncestors(() => askedAt || void leave(0))
  // A closed terminal makes output fail. That must not end this process before everything has stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void leave(0))
  stack = await start()
  await onReady(stack)
  await stack.databaseEnded
  if (askedAt) return
  console.error(`Postgres has ended; ${join(directory, 'postgres', 'postgres.log')} says why.`)
  await leave(1)
}
