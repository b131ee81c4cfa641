const longest = 40
/** Replaces a shape that only one value of the sample has, because that shape could identify the value. */
export const OTHER = 'other'

/**
 * Returns the kinds of characters of a text in order: A and a for letters, 9 for digits, a dot for unusual characters. Common punctuation stays
 * unchanged. A sequence of one kind becomes one character, so that lengths are hidden: `Anna Berg` and `Jo Li` are both `Aa Aa`. A shape
 * has at most 40 characters.
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

/** Returns the shapes that at least two different values share, most frequent first, and then `other` if there are other shapes. */
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
