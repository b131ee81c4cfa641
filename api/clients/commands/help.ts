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
          throw usage(`Unknown command or topic: ${words.join(' ')}`, `Commands: lading --help. Topics: ${Object.keys(TOPICS).join(', ')}`)
        command = found
      }
      command.outputHelp()
    })
}

type Topic = (out: Output) => [document: unknown, lines: string[]]

const list = ({width}: Output, items: readonly (readonly [string, string])[]): string[] => {
  const indent = Math.max(...items.map(([name]) => name.length)) + 2
  return items.flatMap(([name, text]) =>
    wrap(text, Math.max(20, width() - indent)).map((line, at) => `${(at === 0 ? name : '').padEnd(indent)}${line}`),
  )
}

const codes = exitCodes.map(([code, what]) => [String(code), what] as const)

const VARIABLES = [
  ['LADING_URL', 'The server, unless --server is given'],
  ['LADING_TOKEN', 'An API token. It takes precedence over the stored session'],
  ['XDG_CONFIG_HOME', 'Sessions are stored in lading/sessions.json, readable only by you (default: ~/.config)'],
  ['XDG_STATE_HOME', 'Interrupted uploads are stored in lading/imports for a week (default: ~/.local/state)'],
  ['BROWSER', 'The browser that login opens'],
  ['NO_COLOR, FORCE_COLOR', 'Disable colours, or use them without a terminal'],
  ['COLUMNS', 'The width, if the terminal does not report it'],
] as const

const JSON_HELP = [
  'With --json, standard output is one JSON document, as returned by the API: lading imports --json | jq .imports',
  'Commands that follow something print one document per line. `logs`: one log entry each. `plan`, and `import`, `run`, `apply`, `retry` and `watch` with --watch:',
  '{"event": "source" | "corrected" | "run" | "state" | "progress" | "end", ...}. The last event is end, with the run and the exit code.',
  'An error is one line of JSON on standard error: {"error", "code", "exit", "next", ...}. The code is an API code, or one of',
  'USAGE, FILE, NOT_SIGNED_IN, UNREACHABLE, INTERRUPTED, DECLINED, DIFFERENT, DOES_NOT_FIT, DRIFT, CANCELLED, TEST_STACK, FAILED.',
  'Without a terminal, tables are tab-separated and not truncated, and progress is one line every five seconds.',
]

const TOPICS: Record<string, Topic> = {
  'exit-codes': out => [{exitCodes: exitCodes.map(([code, meaning]) => ({code, meaning}))}, ['Exit codes:', '', ...list(out, codes)]],
  environment: out => [
    {variables: VARIABLES.map(([name, meaning]) => ({name, meaning}))},
    ['Environment variables:', '', ...list(out, VARIABLES)],
  ],
  json: out => [{text: JSON_HELP.join(' ')}, JSON_HELP.flatMap(text => wrap(text, out.width()))],
}
