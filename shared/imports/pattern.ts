import {RE2JS} from 're2js'
import {Refusal} from '../errors.ts'

/** Longer cells are not searched by a pattern: its time grows with their length, and with nothing else. */
const longestSearched = 65_536

type Wanted = {find: string; with: string; regex: boolean; ignoreCase: boolean}

/** A function that replaces every occurrence in a cell. RE2 never goes back over a text, so no pattern takes more than linear time. */
export const replacing = ({find, with: replacement, regex, ignoreCase}: Wanted): ((cell: string, row: number) => string) => {
  if (!regex && !ignoreCase) return cell => (cell.includes(find) ? cell.replaceAll(find, () => replacement) : cell)
  const pattern = compile({find, regex, ignoreCase})
  const text = regex ? replacement : RE2JS.quoteReplacement(replacement)
  return (cell, row) => {
    if (cell.length <= longestSearched) return cell === '' ? cell : pattern.matcher(cell).replaceAll(text)
    throw new Refusal(
      'UNREADABLE',
      `Row ${row} has a cell of ${cell.length.toLocaleString('en')} characters; a pattern searches at most ${longestSearched.toLocaleString('en')}. Name the columns it is for, or replace plain text`,
      {row, limit: longestSearched},
    )
  }
}

/** What is wrong with the pattern or its replacement, or null. */
export const patternFault = ({find, with: replacement, regex, ignoreCase}: Wanted): string | null => {
  if (!regex) return null
  try {
    const pattern = compile({find, regex, ignoreCase})
    for (const [, group] of replacement.matchAll(/(?<!\\)\$(\d+)/g))
      if (Number(group) > pattern.groupCount()) return `The pattern has no group ${group}`
    // Whatever else is wrong with the replacement shows where something is found.
    RE2JS.compile('')
      .matcher('')
      .replaceAll(replacement.replace(/(?<!\\)\$\d+/g, ''))
    return null
  } catch (error) {
    return `${(error as Error).message}. Look-around and back-references are not known`
  }
}

const compile = ({find, regex, ignoreCase}: Omit<Wanted, 'with'>) =>
  RE2JS.compile(regex ? find : RE2JS.quote(find), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
