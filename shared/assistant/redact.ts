import {mapYielding} from '../concurrency/map-yielding.ts'

export const REDACTED = '[…]'

/** Minimum length of a value that is redacted inside other words. Shorter values occur by chance in any text. */
const fewestShared = 4
/** Minimum length of a redacted value of a script without capitals, because words of such scripts are short. */
const fewestUncased = 2
/**
 * Minimum length of other redacted values, except names of two letters (`SHORT_NAME`). Values shorter than `fewestShared` are redacted only as
 * separate words.
 */
const fewestWord = 3
/** Values are indexed by at most this many leading characters; further characters are compared afterwards. */
const longestSought = 48

type Column = {samples: readonly string[]; personal: boolean}

/**
 * Returns a function that redacts the values of personal columns in a text, ignoring case, accents, width, blanks and invisible characters. The
 * function takes linear time, regardless of the number and similarity of the values.
 */
export const openRedaction = async (columns: readonly Column[]): Promise<(text: string) => string> => {
  const values = columns.flatMap(({samples, personal}) => (personal ? [...samples] : []))
  const sought = await openSoughtValue(values)
  const names = new Set<string>()
  await mapYielding(values, value => {
    const name = value.normalize('NFC').trim()
    if (SHORT_NAME.test(name)) names.add(name)
  })
  return text => {
    const {plain, starts, ends} = fold(text)
    let [struck, rest] = ['', 0]
    for (let at = 0; at < plain.length; at++) {
      const length = sought(plain, at)
      if (length === 0) continue
      struck += text.slice(rest, starts[at]!) + REDACTED
      at += length - 1
      rest = ends[at]!
    }
    struck += text.slice(rest)
    return names.size === 0 ? struck : struck.replaceAll(/[\p{L}\p{N}\p{M}]+/gu, word => (names.has(word) ? REDACTED : word))
  }
}

/** Matches a capitalised value of two letters. Such a value is redacted only as a separate word with the same capitals. */
const SHORT_NAME = /^\p{Lu}\p{L}$/u

/** Returns a function that returns how many characters at a position of a folded text belong to a value, or 0. */
const openSoughtValue = async (values: readonly string[]) => {
  const byStart = new Map<string, {lengths: number[]; wholes: Map<string, string>}>()
  await mapYielding(values, one => {
    const value = foldValue(one)
    if (value.length < (isUncased(value) ? fewestUncased : fewestWord)) return
    const [start, head] = [value.slice(0, fewestUncased), value.slice(0, longestSought)]
    const group = byStart.get(start) ?? {lengths: [], wholes: new Map<string, string>()}
    byStart.set(start, group)
    if (!group.lengths.includes(head.length)) group.lengths = [...group.lengths, head.length].sort((one, other) => other - one)
    if ((group.wholes.get(head) ?? '').length < value.length) group.wholes.set(head, value)
  })
  return (text: string, at: number): number => {
    const group = byStart.get(text.slice(at, at + fewestUncased))
    for (const length of group?.lengths ?? []) {
      const whole = group!.wholes.get(text.slice(at, at + length))
      if (whole === undefined || at + length > text.length) continue
      if (whole.length >= fewestShared || isUncased(whole) || isWord(text, at, at + length))
        return length + alike(whole, text.slice(at, at + whole.length), length)
    }
    return 0
  }
}

const isUncased = (value: string) => /\p{Lo}/u.test(value)

const isWord = (text: string, from: number, to: number) =>
  !/[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, from - 2), from)) && !/^[\p{L}\p{N}]/u.test(text.slice(to, to + 2))

const alike = (one: string, other: string, from: number): number => {
  let at = from
  while (at < other.length && one[at] === other[at]) at++
  return at - from
}

type FoldedText = {plain: string; starts: number[]; ends: number[]}

/**
 * Folds a text: removes case, accents, width, invisible marks and repeated blanks. `starts` and `ends` are the positions of each folded
 * character in the source text.
 */
const fold = (text: string): FoldedText => {
  const [starts, ends]: [number[], number[]] = [[], []]
  let [plain, offset] = ['', 0]
  for (const character of text) {
    const end = offset + character.length
    for (const one of foldCharacter(character)) {
      if (one === ' ' && plain.endsWith(' ')) continue
      plain += one
      for (let unit = 0; unit < one.length; unit++) {
        starts.push(offset)
        ends.push(end)
      }
    }
    // An invisible mark after a character, such as an accent, belongs to that character.
    if (plain !== '' && ends.length > 0 && isUnseen(character)) ends[ends.length - 1] = end
    offset = end
  }
  return {plain, starts, ends}
}

/** Folds a value and trims blanks. ASCII is folded directly, because folding by character takes ten times longer. */
const foldValue = (value: string): string =>
  ASCII.test(value) ? value.toLowerCase().replaceAll(/\s+/g, ' ').trim() : fold(value).plain.trim()

const ASCII = /^[\x20-\x7e\s]*$/

const isUnseen = (character: string) => character > '\u007f' && /^[\p{M}\p{Cf}]$/u.test(character)

const known = new Map<string, string>()
const mostKnown = 20_000

const foldCharacter = (character: string): string => {
  const before = known.get(character)
  if (before !== undefined) return before
  // Upper case is applied first, because `ß` and `ſ` become other letters.
  const plain = character
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{Cf}]/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll(/\s+/g, ' ')
  if (known.size < mostKnown) known.set(character, plain)
  return plain
}
