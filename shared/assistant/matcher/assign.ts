/**
 * Assigns rows to columns one-to-one so that the sum of `worth` is largest (Hungarian algorithm, O(rows² × (rows + columns))). Returns the
 * column of each row, or -1. Pairs worth 0 or less are not assigned. Deterministic.
 */
export const assign = (worth: readonly (readonly number[])[]): number[] => {
  const rows = worth.length
  const wide = worth[0]?.length ?? 0
  // Each row also has a dummy column of worth 0, which means that the row is unassigned.
  const columns = wide + rows
  const costs = new Float64Array(rows * columns)
  for (const [row, values] of worth.entries()) for (let at = 0; at < wide; at++) costs[row * columns + at] = -Math.max(0, values[at]!)
  const [u, v] = [new Float64Array(rows + 1), new Float64Array(columns + 1)]
  const taken = new Int32Array(columns + 1)
  const way = new Int32Array(columns + 1)
  for (let row = 1; row <= rows; row++) {
    taken[0] = row
    let at = 0
    const least = new Float64Array(columns + 1).fill(Number.POSITIVE_INFINITY)
    const used = new Uint8Array(columns + 1)
    do {
      used[at] = 1
      const current = taken[at]!
      const [first, low] = [(current - 1) * columns - 1, u[current]!]
      let [delta, next] = [Number.POSITIVE_INFINITY, 0]
      for (let column = 1; column <= columns; column++) {
        if (used[column]) continue
        const reduced = costs[first + column]! - low - v[column]!
        if (reduced < least[column]!) {
          least[column] = reduced
          way[column] = at
        }
        if (least[column]! < delta) {
          delta = least[column]!
          next = column
        }
      }
      for (let column = 0; column <= columns; column++) {
        if (used[column]) {
          u[taken[column]!]! += delta
          v[column]! -= delta
        } else least[column]! -= delta
      }
      at = next
    } while (taken[at] !== 0)
    for (; at !== 0; at = way[at]!) taken[at] = taken[way[at]!]!
  }
  const found = new Array<number>(rows).fill(-1)
  for (let column = 1; column <= wide; column++) {
    const row = taken[column]! - 1
    if (row >= 0 && worth[row]![column - 1]! > 0) found[row] = column - 1
  }
  return found
}
