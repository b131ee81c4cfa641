import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'
import {delimiter, join} from 'node:path'
import {createInterface} from 'node:readline'
import {setTimeout as sleep} from 'node:timers/promises'
import {openKeeper} from './keeper.ts'

export type ProcessLine = {name: string; command: string[]}
export type Output = (name: string, line: string) => void

/** The process of one line. `pid` changes with each restart, and `starts` counts the starts. `tail`: the last lines of its output. */
export type Supervised = {name: string; pid: number | undefined; starts: number; tail: string[]}

export type Supervisor = {
  processes: Map<string, Supervised>
  /** Starts the command, and restarts it whenever it ends. Delays grow if it ends within ten seconds. */
  start(line: ProcessLine): Supervised
  /** Runs the command to its end. Throws with its last output if the exit code is not 0. */
  complete(line: ProcessLine): Promise<void>
  /** Sends SIGTERM, and SIGKILL after `graceSeconds`, by default 10. The same happens if this process is killed. */
  stop(): Promise<void>
  kill(): void
}

export type SupervisorOptions = {
  cwd: string
  env: Record<string, string | undefined>
  output?: Output | undefined
  graceSeconds?: number | undefined
}

const tailLines = 40
const firstDelayMs = 200
const longestDelayMs = 5_000
const livedLongMs = 10_000

export const openSupervisor = ({cwd, env, output, graceSeconds}: SupervisorOptions): Supervisor => {
  const keeper = openKeeper({graceSeconds})
  const processes = new Map<string, Supervised>()
  const stopped = new AbortController()
  const launch = (line: ProcessLine) => {
    const supervised = processes.get(line.name) ?? {name: line.name, pid: undefined, starts: 0, tail: []}
    const child = spawnLine(line, {cwd, env})
    processes.set(line.name, Object.assign(supervised, {pid: child.pid, starts: supervised.starts + 1}))
    follow(child, text => {
      supervised.tail = [...supervised.tail, text].slice(-tailLines)
      output?.(line.name, text)
    })
    if (child.pid) keeper.run(child.pid, ['SIGTERM', 'SIGKILL'])
    child.once('exit', () => child.pid && keeper.end(child.pid))
    return {supervised, child}
  }
  const keep = async (line: ProcessLine, {child}: Launched) => {
    for (let current = child, delay = firstDelayMs; !stopped.signal.aborted; ) {
      const startedAt = Date.now()
      const reason = await ending(current)
      if (stopped.signal.aborted) return
      delay = Date.now() - startedAt > livedLongMs ? firstDelayMs : delay
      output?.(line.name, `${reason}; starting it again in ${delay} ms`)
      await sleep(delay, undefined, {signal: stopped.signal}).catch(() => {})
      if (stopped.signal.aborted) return
      delay = Math.min(delay * 2, longestDelayMs)
      current = launch(line).child
    }
  }
  return {
    processes,
    start: line => {
      const launched = launch(line)
      void keep(line, launched)
      return launched.supervised
    },
    complete: async line => {
      const {child, supervised} = launch(line)
      const reason = await ending(child, 'close')
      if (child.exitCode !== 0) throw new Error(`${line.name} (${line.command.join(' ')}) ${reason}:\n${supervised.tail.join('\n')}`)
      processes.delete(line.name)
    },
    stop: async () => {
      stopped.abort()
      await keeper.stop()
    },
    kill: () => {
      stopped.abort()
      for (const {pid} of processes.values()) killGroup(pid)
    },
  }
}

type Launched = {supervised: Supervised; child: ChildProcess}

/**
 * Starts a process that leads its own group: Ctrl-C in the terminal reaches only this process, which then stops the others. There is no
 * shell, which would intercept the signals. `node` means the running Node.
 */
const spawnLine = ({command}: ProcessLine, {cwd, env}: SupervisorOptions) => {
  const [program = '', ...args] = command
  const path = [join(cwd, 'node_modules', '.bin'), env.PATH ?? process.env.PATH].join(delimiter)
  return spawn(program === 'node' ? process.execPath : program, args, {
    cwd,
    env: {...process.env, ...env, PATH: path},
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

const follow = ({stdout, stderr}: ChildProcess, each: (text: string) => void) => {
  for (const stream of [stdout, stderr]) if (stream) createInterface({input: stream}).on('line', each)
}

/** Waits for the end of the process and describes it. A program that cannot be started counts as ended. */
const ending = async (child: ChildProcess, event: 'exit' | 'close' = 'exit') => {
  try {
    if (child.exitCode === null && child.signalCode === null) await once(child, event)
    return `ended with ${child.signalCode ?? child.exitCode}`
  } catch (error) {
    return `could not be started: ${(error as Error).message}`
  }
}

const killGroup = (pid: number | undefined) => {
  try {
    if (pid) process.kill(-pid, 'SIGKILL')
  } catch {}
}
