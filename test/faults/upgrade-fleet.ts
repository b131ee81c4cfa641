import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'
import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {createInterface} from 'node:readline'
import {setTimeout as sleep} from 'node:timers/promises'
import {freePort} from '../stack/port.ts'
import {readProcfile} from '../stack/procfile.ts'
import type {Build} from './upgrade-builds.ts'

const readyWithinMs = 60_000
const wordsKept = 10
/** Time in ms for requests to arrive that were on their way when the API was removed from the proxy. */
const proxyLagMs = 200

type Options = {environment: Record<string, string>; logged(line: string): void}
export type Fleet = ReturnType<typeof openFleet>

/** Starts processes of several builds, with the commands of each build's Procfile, and picks the API for a request as a proxy does. */
export const openFleet = ({environment, logged}: Options) => {
  const all = new Set<ChildProcess>()
  /** APIs that get requests. An API is removed from the list before it gets SIGTERM. */
  const open: {url: string; child: ChildProcess}[] = []
  let turn = 0
  const words = new WeakMap<ChildProcess, string[]>()

  const hear = (child: ChildProcess, line: string) => {
    words.set(child, [...(words.get(child) ?? []), line].slice(-wordsKept))
    logged(line)
  }

  const start = async ({root}: Build, line: string, more: Record<string, string> = {}) => {
    const {command} = readProcfile(await readFile(join(root, 'Procfile'), 'utf8')).find(({name}) => name === line)!
    // The PATH may hold another Node, so the process starts with the current one.
    const [program, ...args] = command.map(word => (word === 'node' ? process.execPath : word))
    const child = spawn(program!, args, {
      cwd: root,
      env: {...process.env, ...environment, ...more},
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    all.add(child)
    child.once('exit', () => all.delete(child))
    for (const stream of [child.stdout, child.stderr]) createInterface({input: stream}).on('line', line => hear(child, line))
    return child
  }

  return {
    /** Returns the URL of the next API, in turn. */
    pick: () => open[turn++ % open.length]!.url,
    /** Runs the release process of the build to its end and returns its log lines. Throws if the process fails. */
    async release(build: Build): Promise<string[]> {
      const child = await start(build, 'release', {LOG_LEVEL: 'info'})
      const lines: string[] = []
      createInterface({input: child.stdout!}).on('line', line => lines.push(line))
      const [code] = await once(child, 'close')
      if (code === 0) return lines
      throw new Error(`The release of the ${build.name} build ended with ${code}: ${words.get(child)?.join('\n')}`)
    },
    /** Starts an API on port `wanted`, or on a free one, and returns its URL. Throws if the API does not become healthy. */
    async startApi(build: Build, wanted = 0): Promise<string> {
      const port = await freePort(wanted)
      const url = `http://127.0.0.1:${port}`
      const child = await start(build, 'web', {PORT: `${port}`})
      const failure = await failureOf(child, url)
      if (failure) throw new Error(`The API of the ${build.name} build ${failure}. Last: ${words.get(child)?.join('\n')}`)
      open.push({url, child})
      return url
    },
    startWorker: (build: Build, line: 'imports' | 'worker') => start(build, line),
    /** Ends an API as a rolling restart does: the API gets no new requests, then SIGTERM. */
    async endApi(url: string) {
      const one = open.find(api => api.url === url)!
      open.splice(open.indexOf(one), 1)
      await sleep(proxyLagMs)
      await endProcess(one.child, 'SIGTERM')
    },
    stop: () => Promise.all([...all].map(child => endProcess(child, 'SIGKILL'))),
  }
}

/** Returns null once the API and its database are healthy, otherwise what failed. */
const failureOf = async (child: ChildProcess, url: string): Promise<string | null> => {
  for (const end = Date.now() + readyWithinMs; Date.now() < end; await sleep(50)) {
    const answer = await fetch(`${url}/health?deep=1`, {signal: AbortSignal.timeout(5_000)}).catch(() => null)
    await answer?.body?.cancel()
    if (answer?.ok) return null
    if (child.exitCode !== null || child.signalCode !== null) return `ended with ${child.exitCode ?? child.signalCode}`
  }
  return `is not well after ${readyWithinMs / 1_000} s`
}

export const endProcess = async (child: ChildProcess, signal: NodeJS.Signals) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}
