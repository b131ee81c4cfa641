import type {Command} from 'commander'

/** Adds example lines to the help of subcommands. `lines` holds the example by the name of the subcommand. */
export const addExamples = (noun: Command, lines: Record<string, string>) => {
  for (const verb of noun.commands) {
    const line = lines[verb.name()]
    if (line) verb.addHelpText('after', `\nExample:\n  lading ${noun.name()} ${line}`)
  }
}
