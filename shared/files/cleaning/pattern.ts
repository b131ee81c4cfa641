import {RE2JS} from 're2js'
import {Refusal} from '../../errors.ts'
import {maxRowCharacters} from '../row.ts'

/** Maximum length of a cell that a pattern can search. Longer cells are refused. */
const longestSearched = 65_536
/** The maximum characters of a pattern with all repetitions written out. RE2 limits only each single repetition to 1,000. */
const mostInstructions = 1_000
/**
 * The limit on the instructions of the compiled pattern multiplied by the characters of the cell. At the limit, one search takes about 0.1 s.
 */
const mostSteps = 2_000_000
/** Time limit for all searches in a cell. Each search may scan to the end of the cell to match one character, so the total time is quadratic. */
const longestMs = 2_000

type ReplaceInput = {find: string; with: string; regex: boolean; ignoreCase: boolean}

/**
 * RE2 does not backtrack, so one search takes linear time. The returned function throws `tooLong` if the result exceeds the row limit, and a Refusal
 * if the cell is too long or its search takes too long.
 */
export const replacing = (
  {find, with: replacement, regex, ignoreCase}: ReplaceInput,
  tooLong: (row: number) => Refusal,
): ((cell: string, row: number) => string) => {
  if (!regex && !ignoreCase) return replacingText(find, replacement, tooLong)
  const pattern = compile({find, regex, ignoreCase})
  const text = regex ? replacement : RE2JS.quoteReplacement(replacement)
  const limit = regex ? Math.min(longestSearched, Math.floor(mostSteps / pattern.programSize())) : longestSearched
  // An empty cell stays empty, unless the pattern fits no other text, as `^$` does. Patterns such as `^` and `.*` fit texts, and leave it.
  const fitsOnlyEmpty = !['x', '0', '-'].some(probe => pattern.matcher(probe).find())
  const ofEmpty = fitsOnlyEmpty ? replaceMatches(pattern.matcher(''), text, () => tooLong(1)) : ''
  return (cell, row) => {
    if (cell.length <= limit) {
      assertSoon(pattern, cell, row)
      return cell === '' ? ofEmpty : replaceMatches(pattern.matcher(cell), text, () => tooLong(row))
    }
    throw new Refusal(
      'UNREADABLE',
      `Row ${row} has a cell of ${cell.length.toLocaleString('en')} characters, but this pattern can search at most ${limit.toLocaleString('en')}. Name the columns to search, or replace plain text`,
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

/** Replaces every match like `matcher.replaceAll`, but checks the length of the text after each match. */
const replaceMatches = (matcher: Matcher, text: string, tooLong: () => Refusal) => {
  let made = ''
  while (matcher.find()) {
    // biome-ignore lint/complexity/useLiteralKeys: the library's public methods replace all matches at once or one alone.
    made += matcher['appendReplacement'](text)
    if (made.length > maxRowCharacters) throw tooLong()
  }
  return made + matcher.appendTail()
}

/** Searches a cell without replacing, and refuses the cell if the search takes longer than `longestMs`. Short cells are not checked. */
const assertSoon = (pattern: RE2JS, cell: string, row: number) => {
  if (cell.length ** 2 * pattern.programSize() <= mostSteps * 10) return
  const matcher = pattern.matcher(cell)
  for (const end = performance.now() + longestMs; matcher.find(); )
    if (performance.now() > end)
      throw new Refusal(
        'UNREADABLE',
        `In a cell of row ${row}, this pattern takes longer than ${longestMs / 1_000} s. Make the pattern more specific`,
        {row},
      )
}

export const patternFault = ({find, with: replacement, regex, ignoreCase}: ReplaceInput): string | null => {
  if (!regex) return null
  if (lengthOf(find) > mostInstructions) return 'The pattern is too long with its repetitions written out: at most 1,000 characters'
  try {
    const pattern = compile({find, regex, ignoreCase})
    for (const [, group] of replacement.matchAll(/(?<!\\)\$(\d+)/g))
      if (Number(group) > pattern.groupCount()) return `The pattern has no group ${group}`
    return null
  } catch (error) {
    return `${(error as Error).message}. Look-around and back-references are not supported`
  }
}

const compile = ({find, regex, ignoreCase}: Omit<ReplaceInput, 'with'>) =>
  RE2JS.compile(regex ? find : RE2JS.quote(find), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)

/** The length is computed before compilation, because a long pattern takes long to compile. */
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

/**
 * Matches the parts of a pattern: the start of a group, a repetition with its highest count, an escape, a class, or one character.
 * Quantifier marks and anchors are left out.
 */
const parts = /\((?:\?(?:[a-zA-Z-]*:|P?<\w+>))?|\{(?:\d+,)?(\d+),?\}|\\(?:[pP]\{\w+\}|.)|\[\^?\]?(?:\\.|[^\]\\])*\]?|[^*+?|^$]/gs
