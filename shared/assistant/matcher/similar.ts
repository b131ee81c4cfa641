/** Returns the similarity of two words, 0 to 1, by the number of edits. A word of fewer than four letters is similar only to itself. */
const likeness = (a: string, b: string): number => {
  if (a === b) return 1
  const longer = Math.max(a.length, b.length)
  if (Math.min(a.length, b.length) < 4 || Math.abs(a.length - b.length) > 2) return 0
  if (a.startsWith(b) || b.startsWith(a)) return 0.9
  const changes = countChanges(a, b)
  return changes > (longer > 6 ? 2 : 1) ? 0 : 1 - changes / longer
}

/** Returns the optimal string alignment distance: the number of letters replaced, added, removed, or swapped with their neighbour. */
const countChanges = (a: string, b: string): number => {
  let [before, previous] = [new Array<number>(b.length + 1).fill(0), Array.from({length: b.length + 1}, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let least = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1)
      row.push(least)
    }
    before = previous
    previous = row
  }
  return previous[b.length]!
}

/** Returns the share of common words (Dice coefficient), each weighted by similarity. */
export const overlap = (a: readonly string[], b: readonly string[]): number => {
  if (a.length === 0 || b.length === 0) return 0
  const left = [...b]
  let common = 0
  for (const word of a) {
    let [best, at] = [0, -1]
    for (const [index, other] of left.entries()) {
      const like = likeness(word, other)
      if (like > best) [best, at] = [like, index]
    }
    if (best < 0.75) continue
    common += best
    left.splice(at, 1)
  }
  return (2 * common) / (a.length + b.length)
}
