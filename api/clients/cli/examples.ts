import type {Command} from 'commander'

/** Adds an example line to the help of each subcommand. The keys of `lines` are names of subcommands. */
export const addExamples = (noun: Command, lines: Record<string, string>) => {
  for (const verb of noun.commands) {
    const line = lines[verb.name()]
    if (line) verb.addHelpText('after', `\nExample:\n  lading ${noun.name()} ${line}`)
  }
}
