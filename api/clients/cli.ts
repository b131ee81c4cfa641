import {writeSync} from 'node:fs'
import {Command, CommanderError} from 'commander'
import {EXIT} from './cli/exit-codes.ts'
import {assertToken, type Failure, failureOf, usage} from './cli/failure.ts'
import {openInterrupt} from './cli/interrupt.ts'
import {type Output, openOutput} from './cli/output.ts'
import {clean} from './cli/phrases.ts'
import {openSession, readDateFormat} from './cli/session.ts'
import {readSettings, type Settings} from './cli/settings.ts'
import {readVersion} from './cli/version.ts'
import {wrapLines} from './cli/wrap.ts'
import {nouns} from './commands/nouns.ts'

/** Runs one command and returns its exit code. Prints all errors. */
export const main = async (args: string[]): Promise<number> => {
  const settings = readSettings()
  const [own] = args.includes('--') ? [args.slice(0, args.indexOf('--'))] : [args]
  const out = openOutput(own.includes('--json'), {
    out: process.stdout,
    err: process.stderr,
    columns: settings.columns,
    isDumb: settings.isDumb,
  })
  for (const stream of [process.stdout, process.stderr]) stream.on('error', endOnOutputError)
  const ended = {exit: EXIT.ok as number, help: ''}
  try {
    const shape = {
      settings,
      out,
      args,
      exit: (code: number) => void (ended.exit = code),
      keepHelp: (text: string) => void (ended.help += text),
      interrupt: openInterrupt().take,
    }
    const program = await createProgram(shape)
    await program.parseAsync(args, {from: 'user'})
    if (ended.help) teach(out, ended.help)
    return ended.exit
  } catch (error) {
    // A request for help or the version is a success. A command group without a subcommand shows help, which is a success too.
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help')) {
      teach(out, ended.help)
      return EXIT.ok
    }
    const failure = error instanceof CommanderError ? misused(error, wordsOf(own)) : failureOf(error)
    tell(out, failure)
    return failure.exit
  }
}

/** Handles a failed write to the output: a closed pipe (`head`), a closed terminal or a full disk. */
const endOnOutputError = ({code, message}: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(EXIT.pipeClosed)
  if (code !== 'EIO') writeSync(2, `Error: Could not write the output: ${message}\n`)
  process.exit(code === 'EIO' ? EXIT.hungUp : EXIT.failed)
}

const teach = (out: Output, help: string) =>
  void out.out.write(out.json ? `${JSON.stringify({text: help}, null, 2)}\n` : out.isTerminal ? wrapLines(help, out.width()) : help)

type Shape = {
  settings: Settings
  out: Output
  args: readonly string[]
  exit(code: number): void
  keepHelp(text: string): void
  interrupt(): AbortSignal
}

/**
 * Creates the program with all commands. Loads the code of the commands that the arguments name; `completion` loads all. For the rest, a name and a
 * summary are enough.
 */
export const createProgram = async ({settings, out, args, exit, keepHelp, interrupt}: Shape): Promise<Command> => {
  const program = new Command('lading')
  const server = () => program.opts<{server?: string}>().server
  const open = async () => {
    if (settings.token) assertToken(settings.token)
    const session = await openSession(settings, server())
    if (out.isTerminal) out.useDateFormat(await readDateFormat(session))
    return {...session, time: out.time}
  }
  const cli = {out, settings, server, open, interrupt, exit}
  program
    .description('Imports rows from files into a CRM and reports the result of every row.')
    .option('--server <url>', 'URL of the server (default: LADING_URL, or the last server you signed in to)')
    .option('--json', 'print JSON: one document, or one line per event')
    .helpOption('-h, --help', 'help for the command, with examples')
    .version(readVersion(), '-V, --version', 'print the version')
    .configureHelp({showGlobalOptions: true, minWidthToWrap: 12, styleTitle: text => out.style('bold', text)})
    .configureOutput({
      writeErr: keepHelp,
      writeOut: keepHelp,
      getOutHelpWidth: out.width,
      getErrHelpWidth: out.width,
    })
    .showSuggestionAfterError(true)
    .helpCommand(false)
    .exitOverride()
    .addHelpText('after', OUTRO)
  const [first, second] = wordsOf(args)
  const meant = first === 'help' ? [first, second] : [first]
  for (const {name, names = [name], summary, group, load} of nouns) {
    if (first === 'completion' || names.some(one => meant.includes(one))) (await load()).default(cli, program)
    else for (const [at, one] of names.entries()) program.command(one).summary([summary].flat()[at]!)
    for (const one of names) program.commands.find(command => command.name() === one)!.helpGroup(group)
  }
  return program
}

/** Returns the arguments that are neither options nor the value of `--server`. */
const wordsOf = (args: readonly string[]) => args.filter((arg, at) => !arg.startsWith('-') && args[at - 1] !== '--server')

const misused = (error: CommanderError, [noun = '']: string[]): Failure => {
  const [message = '', hint] = error.message.replace(/^error: /, '').split('\n')
  const suggestion = hint ? hint.replace(/^\((.*)\)$/, '$1') : null
  const isKnown = nouns.some(({name, names = [name]}) => names.includes(noun))
  return usage(message, [suggestion, `See: lading ${isKnown ? `${noun} ` : ''}--help`].filter(part => part !== null).join(' '))
}

const mostDetails = 10

type Issue = {path?: (string | number)[]; message?: string}
type Unknown = {modules?: {apiName: string}[]; fields?: {module: string; apiName: string}[]}

/** Converts the names that UNKNOWN_FIELDS lists to issues. */
const unknownNames = ({modules = [], fields = []}: Unknown): Issue[] => [
  ...modules.map(({apiName}) => ({path: [apiName], message: 'The CRM has no such module'})),
  ...fields.map(({module, apiName}) => ({path: [module, apiName], message: 'The CRM has no such field'})),
]

const tell = (out: Output, {message, code, exit, next, detail}: Failure) => {
  if (out.json) return void out.err.write(`${JSON.stringify({error: message, code, exit, next, ...detail})}\n`)
  const {issues = unknownNames(detail), request} = detail as {issues?: Issue[]; request?: string}
  const shown = issues
    .slice(0, mostDetails)
    .map(({path = [], message: what}) => `  ${clean(path.join('.'))}${path.length ? ': ' : ''}${clean(what)}`)
  const lines = [
    `${out.style('red', 'Error:', out.err)} ${clean(message)}${exit === EXIT.refused ? ` (${code})` : ''}`,
    ...shown,
    ...(issues.length > mostDetails ? [`  and ${issues.length - mostDetails} more`] : []),
    ...(next ? [next] : []),
    ...(request && code === 'INTERNAL' ? [`Request ${request}`] : []),
  ]
  out.err.write(`${lines.join('\n')}\n`)
}

const OUTRO = `
Start with: lading login, then lading import FILE --module NAME --watch
In CI: set LADING_URL and LADING_TOKEN instead of signing in
More: lading help COMMAND, lading help exit-codes, lading help environment`
