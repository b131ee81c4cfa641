import {createInterface, type Interface} from 'node:readline'
import {usage} from './failure.ts'
import {interrupted} from './interrupt.ts'
import {clean} from './phrases.ts'
import type {Cli} from './session.ts'

export const canAsk = ({out}: Pick<Cli, 'out'>): boolean => !out.json && Boolean(process.stdin.isTTY && out.err.isTTY)

export type Option<T> = {value: T; label: string}

/** Asks to choose one of the options by its number or label. With `usual`, an empty answer chooses the first one. */
export const askChoice = async <T>(cli: Cli, question: string, options: readonly Option<T>[], usual = false): Promise<T> => {
  const numbers = String(options.length).length
  const list = options.map(({label}, at) => `  ${String(at + 1).padStart(numbers)}  ${clean(label)}`)
  cli.out.note([question, ...list].join('\n'))
  for (;;) {
    const answer = (await ask(cli, `Choose 1 to ${options.length}${usual ? ' [1]' : ''}: `)).trim()
    const chosen = answer === '' && usual ? options[0] : (options[Number(answer) - 1] ?? options.find(({label}) => isSame(label, answer)))
    if (chosen) return chosen.value
  }
}

export const askYes = async (cli: Cli, question: string): Promise<boolean> => {
  for (;;) {
    const answer = (await ask(cli, `${question} [Y/n] `)).trim().toLowerCase()
    if (['', 'y', 'yes'].includes(answer)) return true
    if (['n', 'no'].includes(answer)) return false
  }
}

const ask = async (cli: Cli, prompt: string): Promise<string> => {
  const signal = cli.interrupt()
  cli.out.err.write(prompt)
  try {
    return await readLine(signal)
  } catch (error) {
    throw signal.aborted ? interrupted(signal.reason, 'Interrupted before the run started', 'Run the command again') : error
  }
}

type Waiting = {resolve: (line: string) => void; reject: (error: unknown) => void}
type TypedLines = {input: Interface; lines: string[]; waiting: Waiting | null; isClosed: boolean}

let typed: TypedLines | null = null

/** Returns the next line of the terminal. Lines that were typed ahead are kept for the next questions. */
const readLine = async (signal: AbortSignal): Promise<string> => {
  typed ??= openLines()
  const from = typed
  if (from.lines.length > 0) return from.lines.shift()!
  if (from.isClosed) throw notAnswered()
  const {promise, resolve, reject} = Promise.withResolvers<string>()
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, {once: true})
  from.waiting = {resolve, reject}
  from.input.resume()
  try {
    return await promise
  } finally {
    from.waiting = null
    signal.removeEventListener('abort', stop)
    // A paused terminal does not keep the process alive.
    from.input.pause()
  }
}

/** Reads lines after the terminal has edited them. Node does no line editing, so Ctrl-C still reaches the process as a signal. */
const openLines = (): TypedLines => {
  const opened: TypedLines = {input: createInterface({input: process.stdin, terminal: false}), lines: [], waiting: null, isClosed: false}
  opened.input.on('line', line => {
    if (!opened.waiting) return void opened.lines.push(line)
    opened.waiting.resolve(line)
    opened.waiting = null
  })
  opened.input.on('close', () => {
    opened.isClosed = true
    opened.waiting?.reject(notAnswered())
  })
  return opened
}

const notAnswered = () => usage('The question was not answered', 'Run the command again, or answer with options: --help')

const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
