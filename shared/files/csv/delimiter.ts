const candidates = [',', ';', '\t', '|'] as const
const sampleRecords = 200
const headerWeight = 2

type ScoreOptions = {
  quote?: string | null | undefined
  skipRows?: number
  comment?: string | null | undefined
  /** Whether the file continues after the sample, so that the last record of the sample may be incomplete. */
  cut?: boolean
}

/**
 * Returns the candidate with which the largest share of the first 200 records has the same number of cells, at least two. Returns undefined for
 * a single column.
 */
export const scoreDelimiters = (text: string, options: ScoreOptions = {}) => {
  const scores = candidates
    .filter(delimiter => delimiter !== options.quote)
    .map(delimiter => ({delimiter, ...scoreOf(cellCounts(text, delimiter, options))}))
  const [first, second] = scores.filter(({cells}) => cells > 1).toSorted((a, b) => b.share - a.share || b.cells - a.cells)
  // In `1,5;2,5`, commas are decimal commas if every comma is between digits and another delimiter has at least the same share.
  if (first?.delimiter === ',' && second && second.share >= first.share && commasAreDecimal(text)) return second.delimiter
  return first?.delimiter
}

/**
 * Returns the most frequent number of cells, and the share of records with this number, in steps of 1/20. The first record has double weight, because
 * a header contains no prose.
 */
const scoreOf = (counts: number[]) => {
  const weights = new Map<number, number>()
  for (const [index, count] of counts.entries()) weights.set(count, (weights.get(count) ?? 0) + (index ? 1 : headerWeight))
  const [cells, weight] = [...weights].toSorted((a, b) => b[1] - a[1] || b[0] - a[0])[0] ?? [0, 0]
  return {cells, share: Math.round((20 * weight) / (counts.length + headerWeight - 1)) / 20}
}

const cellCounts = (text: string, delimiter: string, {quote = '"', skipRows = 0, comment, cut = false}: ScoreOptions) => {
  const counts: number[] = []
  const first = lineStart(text, skipRows)
  let [cells, recordStart, cellStart, quoted, closedAt] = [1, first, first, false, -1]
  const close = (end: number) => {
    if (end > recordStart && !(comment && text.startsWith(comment, recordStart))) counts.push(cells)
    cells = 1
    recordStart = cellStart = end + 1
  }
  for (let at = first; at < text.length && counts.length < sampleRecords; at++) {
    const character = text[at]!
    if (quoted) {
      if (character === quote) [quoted, closedAt] = [false, at]
    } else if (character === quote && (at === cellStart || at === closedAt + 1)) quoted = true
    else if (character === delimiter) {
      cells++
      cellStart = at + 1
    } else if (character === '\n' || character === '\r') close(at)
  }
  if (!cut || !counts.length) close(text.length)
  return counts
}

const lineStart = (text: string, lines: number) => {
  const ends = /\r\n|\r|\n/g
  for (let line = 0; line < lines; line++) if (!ends.exec(text)) return text.length
  return ends.lastIndex
}

const commasAreDecimal = (text: string) => !/(^|[^\d]),|,([^\d]|$)/.test(text)
