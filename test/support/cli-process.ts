import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {endAfterTests} from './test-deployment.ts'

export const cliPath = fileURLToPath(new URL('../../api/clients/lading.js', import.meta.url))

export type EndedProcess = {code: number | null; out: string; err: string}
type Started = {
  child: ChildProcess
  out(): string
  err(): string
  ended: Promise<EndedProcess>
}

type OpenHomeInput = {
  env?: Record<string, string>
  input?: string
  /** The width of a pseudo-terminal in which the command runs, by `script` of util-linux. `out` then contains the errors too. */
  columns?: number
  cwd?: string
  command?: string[]
  /** The seconds after which the process is killed; 60 by default. */
  seconds?: number
}

const usualSeconds = 60

/** Creates a folder for one test of the command line, with its configuration and state. `here`: the folder. */
export const openHome = (env: Record<string, string> = {}) => {
  const here = mkdtempSync(join(tmpdir(), 'lading-cli-'))
  endAfterTests(async () => rmSync(here, {recursive: true, force: true}))
  const places = {XDG_CONFIG_HOME: join(here, 'config'), XDG_STATE_HOME: join(here, 'state'), LADING_URL: '', LADING_TOKEN: ''}
  const start = (args: string[], asked: OpenHomeInput = {}) => startCli(args, {cwd: here, ...asked, env: {...places, ...env, ...asked.env}})
  const put = (name: string, text: string | Uint8Array) => {
    const path = join(here, name)
    writeFileSync(path, text)
    return path
  }
  return {here, put, start, run: (args: string[], asked?: OpenHomeInput) => start(args, asked).ended}
}

/** Runs the command line as a separate process, and kills it after `seconds`. */
const startCli = (
  args: string[],
  {env = {}, input, columns, cwd, command = [process.execPath, cliPath], seconds = usualSeconds}: OpenHomeInput,
): Started => {
  const whole = columns === undefined ? [...command, ...args] : inTerminal([...command, ...args], columns)
  const child = spawn(whole[0]!, whole.slice(1), {cwd, env: {...inherited(), TERM: 'xterm-256color', ...env}, stdio: 'pipe'})
  const [out, err] = [collect(child.stdout!), collect(child.stderr!)]
  child.stdin!.on('error', () => {})
  if (input !== undefined) child.stdin!.end(input)
  else if (columns === undefined) child.stdin!.end()
  const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
  const ended = once(child, 'close').then(([code]) => {
    clearTimeout(timer)
    return {code: code as number | null, out: out(), err: err()}
  })
  return {child, out, err, ended}
}

/**
 * Returns the few variables that a command gets from our environment. Variables about terminals, continuous integration and colours are
 * left out.
 */
const inherited = () => {
  const all: Record<string, string | undefined> = {...process.env}
  return Object.fromEntries(['PATH', 'HOME', 'TMPDIR', 'NODE_COMPILE_CACHE'].flatMap(name => (all[name] ? [[name, all[name]]] : [])))
}

const inTerminal = (command: string[], columns: number) => {
  const words = command.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  return ['script', '-qec', `stty rows 24 cols ${columns}; exec ${words}`, '/dev/null']
}

const collect = (stream: NodeJS.ReadableStream) => {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', chunk => (text += chunk))
  return () => text
}

const esc = String.fromCharCode(27)
const redraw = `\r${esc}[K`

/** Returns the text that a terminal finally shows, without colours and overwritten lines. */
export const shownBy = (text: string) =>
  text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map(line => line.slice(line.lastIndexOf(redraw) + 1 && line.lastIndexOf(redraw) + redraw.length))
    .join('\n')
    .replaceAll(new RegExp(`${esc}\\[[\\d;]*m`, 'g'), '')

/** Lists the states of a line that is redrawn, without empty states and those with escape sequences. */
export const drawnBy = (text: string) =>
  text
    .split(redraw)
    .slice(1)
    .map(part => part.split(/[\r\n]/)[0]!)
    .filter(line => line && !line.includes(esc))

export const hasColour = (text: string, colour: number) => text.includes(`${esc}[${colour}m`)
export const hasEscapes = (text: string) => text.includes(esc)
