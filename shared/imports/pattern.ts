import {RE2JS} from 're2js'
import {Refusal} from '../errors.ts'
import {maxRowCharacters} from './row.ts'

/** Longer cells are not searched by a pattern. */
const longestSearched = 65_536
/** Instructions of a pattern, its repetitions written out: RE2's own limit of one repetition, here of all together. */
const mostInstructions = 1_000
/** Instructions times characters, which is what one search takes at worst: a tenth of a second. */
const mostSteps = 2_000_000
/** All searches of a cell. Each may look to its end and find one character, so together they are no matter of its length alone. */
const longestMs = 2_000

type Wanted = {find: string; with: string; regex: boolean; ignoreCase: boolean}

/**
 * Makes a function that replaces every occurrence in a cell. RE2 never goes back over a text, so one search takes linear time. A cell that
 * would become longer than a row may be is refused by `tooLong` before it is built.
 */
export const replacing = (
  {find, with: replacement, regex, ignoreCase}: Wanted,
  tooLong: (row: number) => Refusal,
): ((cell: string, row: number) => string) => {
  if (!regex && !ignoreCase) return replacingText(find, replacement, tooLong)
  const pattern = compile({find, regex, ignoreCase})
  const text = regex ? replacement : RE2JS.quoteReplacement(replacement)
  const limit = regex ? Math.min(longestSearched, Math.floor(mostSteps / pattern.programSize())) : longestSearched
  return (cell, row) => {
    if (cell.length <= limit) {
      assertSoon(pattern, cell, row)
      return cell === '' ? cell : replaceMatches(pattern.matcher(cell), text, () => tooLong(row))
    }
    throw new Refusal(
      'UNREADABLE',
      `Row ${row} has a cell of ${cell.length.toLocaleString('en')} characters; this pattern searches at most ${limit.toLocaleString('en')}. Name the columns it is for, or replace plain text`,
      {row, limit},
    )
  }
}

const replacingText = (find: string, replacement: string, tooLong: (row: number) => Refusal) => (cell: string, row: number) => {
  let made = cell.length
  for (let at = cell.indexOf(find); at >= 0; at = cell.indexOf(find, at + find.length)) made += replacement.length - find.length
  if (made > maxRowCharacters) throw tooLong(row)
  return cell.replaceAll(find, () => replacement)
}

type Matcher = ReturnType<RE2JS['matcher']>

/** Does what `matcher.replaceAll` does, but checks the length of the text after each match. */
const replaceMatches = (matcher: Matcher, text: string, tooLong: () => Refusal) => {
  let made = ''
  while (matcher.find()) {
    // biome-ignore lint/complexity/useLiteralKeys: the library's public methods replace all matches at once or one alone.
    made += matcher['appendReplacement'](text)
    if (made.length > maxRowCharacters) throw tooLong()
  }
  return made + matcher.appendTail()
}

/** Refuses a cell if the search alone takes longer than `longestMs`, because a replacement repeats the search. Short cells are not checked. */
const assertSoon = (pattern: RE2JS, cell: string, row: number) => {
  if (cell.length ** 2 * pattern.programSize() <= mostSteps * 10) return
  const matcher = pattern.matcher(cell)
  for (const end = performance.now() + longestMs; matcher.find(); )
    if (performance.now() > end)
      throw new Refusal(
        'UNREADABLE',
        `Row ${row} has a cell in which this pattern searches for more than ${longestMs / 1_000} s. Make it say more of what it looks for`,
        {row},
      )
}

/** What is wrong with the pattern or its replacement, or null. */
export const patternFault = ({find, with: replacement, regex, ignoreCase}: Wanted): string | null => {
  if (!regex) return null
  if (lengthOf(find) > mostInstructions) return 'The pattern repeats too much: together its repetitions come to at most 1,000 characters'
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

/** Characters a pattern looks for with its repetitions written out. Known before it is compiled, which takes as long as it is then. */
const lengthOf = (find: string): number => {
  const groups = [0]
  let last = 0
  for (const [part, most] of find.matchAll(parts)) {
    const [at, times] = [groups.length - 1, most === undefined ? 1 : Number(most)]
    if (part.startsWith('(')) groups.push(0)
    else if (most !== undefined) groups[at]! += last * Math.max(0, times - 1)
    else {
      last = part === ')' && at > 0 ? groups.pop()! : 1
      groups[groups.length - 1]! += last
    }
    last *= times
  }
  return groups.reduce((sum, length) => sum + length, 0)
}

/** How a group begins, a repetition with its highest count, an escape, a class, one character. Marks that stand for none are left out. */
const parts = /\((?:\?(?:[a-zA-Z-]*:|P?<\w+>))?|\{(?:\d+,)?(\d+),?\}|\\(?:[pP]\{\w+\}|.)|\[\^?\]?(?:\\.|[^\]\\])*\]?|[^*+?|^$]/gs
