type Edit = {sign: ' ' | '-' | '+'; text: string}

const context = 3
/**
 * The limit, in cells, of the table for the longest common subsequence. Beyond it, the diff marks all lines between the common start and end as
 * replaced.
 */
const mostCells = 4_000_000

/** Returns a unified diff with three lines of context, or an empty list if the texts are equal. */
export const diffLines = (before: string, after: string): string[] => {
  const edits = editsOf(linesOf(before), linesOf(after))
  const near = edits.map((_, at) => edits.slice(Math.max(0, at - context), at + context + 1).some(({sign}) => sign !== ' '))
  const lines: string[] = []
  let [old, now] = [1, 1]
  for (let at = 0; at < edits.length; at++) {
    if (near[at] && !near[at - 1]) {
      const end = near.indexOf(false, at)
      lines.push(headOf(edits.slice(at, end < 0 ? undefined : end), old, now))
    }
    const {sign, text} = edits[at]!
    if (near[at]) lines.push(sign + text)
    if (sign !== '+') old++
    if (sign !== '-') now++
  }
  return lines
}

const linesOf = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

const headOf = (hunk: Edit[], old: number, now: number) => {
  const count = (other: string) => hunk.filter(({sign}) => sign !== other).length
  const at = (line: number, many: number) => `${many === 0 ? line - 1 : line}${many === 1 ? '' : `,${many}`}`
  return `@@ -${at(old, count('+'))} +${at(now, count('-'))} @@`
}

/** Compares only the lines between the common prefix and suffix. */
const editsOf = (before: string[], after: string[]): Edit[] => {
  let start = 0
  while (start < before.length && before[start] === after[start]) start++
  let end = 0
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const same = (text: string): Edit => ({sign: ' ', text})
  const middle = middleOf(before.slice(start, before.length - end), after.slice(start, after.length - end))
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)]
}

const middleOf = (before: string[], after: string[]): Edit[] => {
  const removed = (text: string): Edit => ({sign: '-', text})
  const added = (text: string): Edit => ({sign: '+', text})
  const width = after.length + 1
  if (before.length * after.length > mostCells) return [...before.map(removed), ...after.map(added)]
  const longest = new Uint32Array((before.length + 1) * width)
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--) {
      const cell = row * width + column
      longest[cell] = before[row] === after[column] ? longest[cell + width + 1]! + 1 : Math.max(longest[cell + width]!, longest[cell + 1]!)
    }
  const edits: Edit[] = []
  let [row, column] = [0, 0]
  while (row < before.length && column < after.length) {
    const cell = row * width + column
    if (before[row] === after[column]) {
      edits.push({sign: ' ', text: before[row]!})
      row++
      column++
    } else if (longest[cell + width]! >= longest[cell + 1]!) edits.push(removed(before[row++]!))
    else edits.push(added(after[column++]!))
  }
  return [...edits, ...before.slice(row).map(removed), ...after.slice(column).map(added)]
}
