import {createInterface} from 'node:readline/promises'
import {usage} from './failure.ts'
import {interrupted} from './interrupt.ts'
import {clean} from './phrases.ts'
import type {Cli} from './session.ts'

/** Whether questions can be asked: input and error output are a terminal, and the output is for people. */
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

/** Asks a question that is answered with yes or no. An empty answer means yes. */
export const askYes = async (cli: Cli, question: string): Promise<boolean> => {
  for (;;) {
    const answer = (await ask(cli, `${question} [Y/n] `)).trim().toLowerCase()
    if (['', 'y', 'yes'].includes(answer)) return true
    if (['n', 'no'].includes(answer)) return false
  }
}

const ask = async (cli: Cli, prompt: string): Promise<string> => {
  const signal = cli.interrupt()
  const terminal = createInterface({input: process.stdin, output: cli.out.err})
  // In a terminal, readline receives Ctrl-C instead of the process.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const closed = new Promise<never>((_, reject) =>
    terminal.once('close', () => reject(usage('The question was not answered', 'Run the command again, or answer with options: --help'))),
  )
  closed.catch(() => {})
  try {
    return await Promise.race([terminal.question(prompt, {signal}), closed])
  } catch (error) {
    throw signal.aborted ? interrupted(signal.reason, 'Interrupted before the run started', 'Run the command again') : error
  } finally {
    terminal.close()
  }
}

const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
