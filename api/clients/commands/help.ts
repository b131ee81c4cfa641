import type {Command} from 'commander'
import {exitCodes} from '../cli/exit-codes.ts'
import {usage} from '../cli/failure.ts'
import type {Output} from '../cli/output.ts'
import type {Cli} from '../cli/session.ts'
import {wrap} from '../cli/wrap.ts'

export default ({out}: Cli, program: Command) => {
  program
    .command('help')
    .summary('explain a command or a topic')
    .argument('[words...]', `a command, or a topic: ${Object.keys(TOPICS).join(', ')}`)
    .action((words: string[]) => {
      const topic = TOPICS[words[0] ?? '']
      if (topic && words.length === 1) return out.answer(...topic(out))
      let command = program
      for (const word of words) {
        const found = command.commands.find(one => one.name() === word)
        if (!found)
          throw usage(
            `There is no command and no topic ${words.join(' ')}`,
            `Commands: lading --help. Topics: ${Object.keys(TOPICS).join(', ')}`,
          )
        command = found
      }
      command.outputHelp()
    })
}

type Topic = (out: Output) => [document: unknown, lines: string[]]

/** As many columns as the longest name needs, and the text within the rest. */
const list = ({width}: Output, items: readonly (readonly [string, string])[]): string[] => {
  const indent = Math.max(...items.map(([name]) => name.length)) + 2
  return items.flatMap(([name, text]) =>
    wrap(text, Math.max(20, width() - indent)).map((line, at) => `${(at === 0 ? name : '').padEnd(indent)}${line}`),
  )
}

const codes = exitCodes.map(([code, what]) => [String(code), what] as const)

const VARIABLES = [
  ['LADING_URL', 'The server, where --server does not name one'],
  ['LADING_TOKEN', 'An API token. It goes before the session that login kept'],
  ['XDG_CONFIG_HOME', 'lading/sessions.json in it holds the sessions, for its owner alone (default: ~/.config)'],
  ['XDG_STATE_HOME', 'lading/imports in it remembers uploads that were interrupted, for a week (default: ~/.local/state)'],
  ['BROWSER', 'The program login opens the browser with'],
  ['NO_COLOR, FORCE_COLOR', 'No colours, or colours although it is no terminal'],
  ['COLUMNS', 'The width, where the terminal does not tell it'],
] as const

const JSON_HELP = [
  'With --json the standard output holds one JSON document, as the API answers it: lading runs --json | jq .imports',
  'Where a command goes on it holds a document per line. `logs`: an entry of the log each. `import`, `run`, `retry` and `watch` with --watch:',
  '{"event": "source" | "run" | "state" | "progress" | "end", ...}; the last is end, with the run and what the command exits with.',
  'An error is one line of JSON on the standard error: {"error", "code", "exit", "next", ...}. The code is of the API, or one of',
  'USAGE, FILE, NOT_SIGNED_IN, UNREACHABLE, INTERRUPTED, DIFFERENT, DOES_NOT_FIT, FAILED.',
  'Where the output is no terminal, tables are lines of cells between tabs, whole, and progress is a line every five seconds.',
]

const TOPICS: Record<string, Topic> = {
  'exit-codes': out => [
    {exitCodes: exitCodes.map(([code, meaning]) => ({code, meaning}))},
    ['What a command ends with:', '', ...list(out, codes)],
  ],
  environment: out => [
    {variables: VARIABLES.map(([name, meaning]) => ({name, meaning}))},
    ['What lading reads of the environment:', '', ...list(out, VARIABLES)],
  ],
  json: out => [{text: JSON_HELP.join(' ')}, JSON_HELP.flatMap(text => wrap(text, out.width()))],
}
