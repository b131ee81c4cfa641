import {Argument, type Command, Option} from 'commander'
import {type Node, SHELLS, type Shell, VALUE_KINDS, type ValueKind, writeCompletion} from '../cli/completion.ts'
import {readValues} from '../cli/completion-values.ts'
import type {Cli} from '../cli/session.ts'

export default (cli: Cli, program: Command) => {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addOption(new Option('--values <kind>', 'print names instead; the script calls it').choices(VALUE_KINDS).hideHelp())
    .addHelpText('after', COMPLETION_HELP)
    .action(async (shell: Shell, {values: kind}: {values?: ValueKind}) => {
      if (kind) {
        const values = await readValues(cli, kind)
        return cli.out.answer({values}, values)
      }
      const script = writeCompletion(shell, describe(program))
      cli.out.answer({script}, script.trimEnd())
    })
}

/** The kinds of values that complete an option or a first argument, by its name. */
const KINDS: Record<string, ValueKind> = {
  '--connection': 'connections',
  '--template': 'templates',
  '--module': 'modules',
  connection: 'connections',
  template: 'templates',
  schedule: 'schedules',
  import: 'imports',
  run: 'imports',
  namespace: 'libraries',
}

const describe = (command: Command): Node => ({
  name: command.name(),
  summary: command.summary() || command.description(),
  options: command.options
    .filter(({hidden}) => !hidden)
    .map(({long, short, description, argChoices = [], required}) => ({
      long: long ?? short!,
      short: short ?? null,
      summary: description,
      choices: [...argChoices],
      takesValue: required,
      kind: (required && KINDS[long ?? '']) || null,
    })),
  commands: command.commands.map(describe),
  choices: command.registeredArguments.flatMap(({argChoices = []}) => argChoices),
  kind: KINDS[command.registeredArguments[0]?.name() ?? ''] ?? null,
})

const COMPLETION_HELP = `
It completes commands and options. If you are signed in, it also completes the names of
connections, templates, modules, imports and schedules.

Examples:
  source <(lading completion bash)               # this shell only; add it to ~/.bashrc for all
  lading completion zsh > "\${fpath[1]}/_lading"
  lading completion fish > ~/.config/fish/completions/lading.fish`
