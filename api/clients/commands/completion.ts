import {Argument, type Command} from 'commander'
import {type Node, SHELLS, type Shell, writeCompletion} from '../cli/completion.ts'
import type {Cli} from '../cli/session.ts'

export default (cli: Cli, program: Command) => {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', COMPLETION_HELP)
    .action((shell: Shell) => {
      const script = writeCompletion(shell, describe(program))
      cli.out.answer({script}, script.trimEnd())
    })
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
    })),
  commands: command.commands.map(describe),
  choices: command.registeredArguments.flatMap(({argChoices = []}) => argChoices),
})

const COMPLETION_HELP = `
Examples:
  source <(lading completion bash)               # this shell only; add it to ~/.bashrc for all
  lading completion zsh > "\${fpath[1]}/_lading"
  lading completion fish > ~/.config/fish/completions/lading.fish`
