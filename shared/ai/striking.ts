/** What stands for it. */
export const STRUCK = '[…]'

/** A shorter value is found in anything; of writing without capitals, whose words are short, two are enough. */
const fewestShared = 4
const fewestUncased = 2
/** A value of three characters is found only where it is a word of its own. */
const fewestWord = 3
/** Values are found by so much of their beginning, whose end is looked up then. */
const longestSought = 48

type Column = {samples: readonly string[]; personal: boolean}

/**
 * Takes the values of personal columns out of a text, whatever their case, accents, width and blanks, and what unseen marks are between. In time that
 * grows with the text alone: how many values there are, and how alike they are, makes no difference.
 */
export const openStriking = (columns: readonly Column[]): ((text: string) => string) => {
  const values = columns.flatMap(({samples, personal}) => (personal ? [...samples] : []))
  const sought = openSought(values)
  const names = new Set(values.map(value => value.normalize('NFC').trim()).filter(value => SHORT_NAME.test(value)))
  return text => {
    const {plain, starts, ends} = fold(text)
    let [struck, rest] = ['', 0]
    for (let at = 0; at < plain.length; at++) {
      const length = sought(plain, at)
      if (length === 0) continue
      struck += text.slice(rest, starts[at]!) + STRUCK
      at += length - 1
      rest = ends[at]!
    }
    struck += text.slice(rest)
    return names.size === 0 ? struck : struck.replaceAll(/[\p{L}\p{N}\p{M}]+/gu, word => (names.has(word) ? STRUCK : word))
  }
}

/** Two letters are found only as a word of their own that begins with a capital. */
const SHORT_NAME = /^\p{Lu}\p{L}$/u

/** How much of a folded text from a place on is one of these values: the longest, or 0. */
const openSought = (values: readonly string[]) => {
  const byStart = new Map<string, {lengths: number[]; wholes: Map<string, string>}>()
  for (const value of new Set(values.map(one => fold(one).plain.trim()))) {
    if (value.length < (isUncased(value) ? fewestUncased : fewestWord)) continue
    const [start, head] = [value.slice(0, fewestUncased), value.slice(0, longestSought)]
    const group = byStart.get(start) ?? {lengths: [], wholes: new Map<string, string>()}
    byStart.set(start, group)
    if (!group.lengths.includes(head.length)) group.lengths.push(head.length)
    if ((group.wholes.get(head) ?? '').length < value.length) group.wholes.set(head, value)
  }
  for (const {lengths} of byStart.values()) lengths.sort((one, other) => other - one)
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

/** How many more characters from `from` on two texts have in common. */
const alike = (one: string, other: string, from: number): number => {
  let at = from
  while (at < other.length && one[at] === other[at]) at++
  return at - from
}

type Folded = {plain: string; starts: number[]; ends: number[]}

/** A text without case, accents, width, unseen marks and all blanks but one, and where in it each character came from. */
const fold = (text: string): Folded => {
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
    // What follows a character unseen, an accent of its own say, goes with it.
    if (plain !== '' && ends.length > 0 && isUnseen(character)) ends[ends.length - 1] = end
    offset = end
  }
  return {plain, starts, ends}
}

const isUnseen = (character: string) => character > '\u007f' && /^[\p{M}\p{Cf}]$/u.test(character)

const known = new Map<string, string>()
const mostKnown = 20_000

const foldCharacter = (character: string): string => {
  const before = known.get(character)
  if (before !== undefined) return before
  // Upper case first: of `ß` and `ſ` it is another letter's.
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
