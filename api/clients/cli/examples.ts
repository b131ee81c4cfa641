import type {Command} from 'commander'

/** What help shows under the verbs of a noun: a line each, by the verb's name. */
export const addExamples = (noun: Command, lines: Record<string, string>) => {
  for (const verb of noun.commands) {
    const line = lines[verb.name()]
    if (line) verb.addHelpText('after', `\nExample:\n  lading ${noun.name()} ${line}`)
  }
}
