import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'
import {getCompileCacheDir} from 'node:module'
import {dirname} from 'node:path'
import {fileURLToPath} from 'node:url'
import {until} from './until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export type ApiProcess = {
  url: string
  pid: number
  output(): string
  hears(text: string): Promise<unknown>
  signal(name: NodeJS.Signals): void
  exit: Promise<number | null>
}

/**
 * Starts the API as an operator does, with `node api/server.ts`. The process gets only `environment`, a free port and the compile cache of this
 * test run.
 */
export const startApiProcess = async (environment: Record<string, string>): Promise<ApiProcess> => {
  const compiled = getCompileCacheDir()
  const env = {PORT: '0', ...(compiled && {NODE_COMPILE_CACHE: dirname(compiled)}), ...environment}
  const child = spawn(process.execPath, ['api/server.ts'], {cwd: root, env, stdio: ['ignore', 'pipe', 'pipe']})
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  const output = collect(child)
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  const hears = (text: string) => until(output, seen => seen.includes(text) || child.exitCode !== null)
  await hears('"listening"').catch(error => {
    child.kill('SIGKILL')
    throw error
  })
  const [, url] = /"url":"(http:[^"]+)"/.exec(output()) ?? []
  if (!url) throw new Error(`The API did not come up: ${output()}`)
  return {url, pid: child.pid!, output, hears, exit, signal: name => child.kill(name)}
}

const collect = (child: ChildProcess) => {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', chunk => (text += chunk))
  return () => text
}
