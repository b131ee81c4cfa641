import {execFileSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {once} from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'

/**
 * Claims a cluster's directory for this process. Throws if another running process has claimed it. The claim is a listening socket, which
 * the kernel closes with the process; a lock file would survive a crash.
 */
export const claimDirectory = async (directory: string): Promise<{release(): void}> => {
  const name = `lading-${createHash('sha256').update(directory).digest('hex').slice(0, 16)}`
  const path = process.platform === 'linux' ? `\0${name}` : `/tmp/${name}`
  const server = (await listen(path)) ?? ((await isAnswered(path)) ? null : await listenAgain(path))
  if (!server) throw new Error(`${directory} is in use by another process: stop that one first, or wait until it has stopped`)
  return {release: () => server.close()}
}

/** Listens at the path. Returns null if the path is in use. */
const listen = async (path: string) => {
  const server = net.createServer(socket => socket.destroy()).listen(path)
  try {
    await once(server, 'listening')
    return server.unref()
  } catch {
    return null
  }
}

const isAnswered = async (path: string) => {
  const socket = net.connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Removes the socket file of a process that has ended, and listens. Linux needs no file. */
const listenAgain = (path: string) => {
  fs.rmSync(path, {force: true})
  return listen(path)
}

/**
 * Ends a Postgres that still runs in this directory although its owner died; usually its keeper is stopping it. Also removes a lock file
 * with a reused process id, with which Postgres would refuse to start.
 */
export const endOrphan = async (data: string) => {
  const steps: [NodeJS.Signals, seconds: number][] = [
    ['SIGINT', 15],
    ['SIGQUIT', 5],
    ['SIGKILL', 5],
  ]
  for (const [signal, seconds] of steps) {
    const pid = runningIn(data)
    if (!pid) break
    process.kill(pid, signal)
    for (const until = Date.now() + seconds * 1000; Date.now() < until && runningIn(data); ) await sleep(50)
  }
  if (runningIn(data)) throw new Error(`A Postgres from an earlier start cannot be stopped: process ${runningIn(data)} in ${data}`)
  fs.rmSync(join(data, 'postmaster.pid'), {force: true})
}

const runningIn = (data: string) => {
  const pid = Number(readLines(join(data, 'postmaster.pid'))[0])
  return pid && workingDirectory(pid) === data ? pid : null
}

export const readLines = (path: string) => {
  try {
    return fs.readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** Returns the working directory of a process. Postgres runs in its data directory, which distinguishes it from a process with a reused id. */
const workingDirectory = (pid: number) => {
  try {
    if (process.platform === 'linux') return fs.readlinkSync(`/proc/${pid}/cwd`)
    return execFileSync('lsof', ['-a', '-d', 'cwd', '-Fn', '-p', `${pid}`], {encoding: 'utf8'}).match(/^n(.*)$/m)?.[1]
  } catch {
    return
  }
}
