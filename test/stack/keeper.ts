import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'

type Signals = [first: NodeJS.Signals, second: NodeJS.Signals]

/** Stops processes and removes paths: when `stop` is called, and also when this process dies. */
export type Keeper = {
  /** Adds a process, which must lead its own group (`detached: true`). */
  run(pid: number, signals: Signals): void
  end(pid: number): void
  remove(path: string): void
  stop(): Promise<void>
}

const script = fileURLToPath(new URL('keeper.sh', import.meta.url))

/** Opens a keeper. A process that still runs `graceSeconds` after the first signal gets the second. */
export const openKeeper = ({graceSeconds = 10}: {graceSeconds?: number | undefined} = {}): Keeper => {
  const orders = new Map<string, string>()
  let stopping = false
  const shell = keepShell(orders, {graceSeconds, stopping: () => stopping})
  const order = (key: string, line: string) => {
    orders.set(key, line)
    shell().stdin?.write(line)
  }
  return {
    run: (pid, [first, second]) => order(`${pid}`, `run ${pid}:${first.slice(3)}:${second.slice(3)}\n`),
    end: pid => {
      if (orders.delete(`${pid}`)) shell().stdin?.write(`end ${pid}\n`)
    },
    remove: path => order(path, `remove ${path}\n`),
    stop: async () => {
      stopping = true
      const child = shell()
      if (child.exitCode !== null || child.signalCode !== null) return
      child.ref()
      child.stdin?.end()
      await once(child, 'exit')
    },
  }
}

/** Returns the running shell. If the shell was killed, another one starts and gets all orders again. */
const keepShell = (orders: Map<string, string>, {graceSeconds, stopping}: {graceSeconds: number; stopping(): boolean}) => {
  const start = () => {
    const startedAt = Date.now()
    const child = spawnShell(graceSeconds)
    for (const line of orders.values()) child.stdin?.write(line)
    child.once('exit', () => {
      if (stopping()) return
      if (Date.now() - startedAt < 100) throw new Error(`${script} does not stay up: nothing would stop the processes it keeps`)
      current = start()
    })
    return child
  }
  let current = start()
  return () => current
}

/** Starts the shell in a separate session, so that Ctrl-C in the terminal does not end it. It does not keep the event loop alive. */
const spawnShell = (graceSeconds: number): ChildProcess => {
  const child = spawn('/bin/sh', [script, `${graceSeconds}`], {cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore']})
  child.unref()
  const pipe = child.stdin as typeof child.stdin & {unref(): void}
  pipe.unref()
  pipe.on('error', () => {})
  return child
}
