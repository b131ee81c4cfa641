/** Of a shape no more is told. */
const longest = 40
/** The shape of a value whose own shape no other value of the sample has: it could be told by that. */
export const OTHER = 'other'

/**
 * What kinds of character a text has, in their order: A and a for letters, 9 for digits, common marks as they are, a dot for everything else.
 * Runs of a kind are one character, so that nothing is told of lengths either: `Anna Berg` and `Jo Li` are both `Aa Aa`.
 */
export const shapeOf = (text: string): string => {
  let shape = ''
  for (const character of text.normalize('NFC')) {
    const kind = kindOf(character)
    if (kind !== '' && !shape.endsWith(kind)) shape += kind
    if (shape.length === longest) break
  }
  return shape
}

const kindOf = (character: string) => {
  if (/\p{M}|\p{Cf}/u.test(character)) return ''
  if (/\p{Lu}|\p{Lt}/u.test(character)) return 'A'
  if (/\p{L}/u.test(character)) return 'a'
  if (/\p{N}/u.test(character)) return '9'
  return /[ .,;:@+/()_-]/.test(character) ? character : '.'
}

/** Of a sample: each shape that two different values have at least, the commonest first, and `other` where there are more. */
export const shapesOf = (values: readonly string[]): string[] => {
  const counts = new Map<string, number>()
  for (const value of new Set(values)) {
    const shape = shapeOf(value)
    counts.set(shape, (counts.get(shape) ?? 0) + 1)
  }
  const common = [...counts]
    .filter(([, count]) => count > 1)
    .toSorted(([one, times], [other, more]) => more - times || (one < other ? -1 : 1))
  return [...common.map(([shape]) => shape), ...(common.length < counts.size ? [OTHER] : [])]
}
