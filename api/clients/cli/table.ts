import {clean} from './phrases.ts'

/** A column of a table. `right` aligns numbers. A `keep` column is never shortened, because people copy its values, such as ids. */
export type Column = {head: string; right?: boolean; keep?: boolean}

const gap = 2
const leastWidth = 4

/** Formats a table within the width. It shortens the widest columns first. If that is not enough, each cell gets its own line. */
export const formatTable = (columns: readonly Column[], rows: readonly unknown[][], width: number): string[] => {
  const cells = rows.map(row => columns.map((_, at) => clean(row[at])))
  const wanted = columns.map(({head}, at) => Math.max(widthOf(head), ...cells.map(row => widthOf(row[at]!))))
  const given = narrow(wanted, columns, width - gap * (columns.length - 1))
  if (!given) return cells.flatMap((row, at) => [...(at > 0 ? [''] : []), ...stand(columns, row, width)])
  const heads = columns.map(({head}) => head)
  return [heads, ...cells].map(row =>
    row
      .map((cell, at) => pad(cell, given[at]!, columns[at]!))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

/** Formats a table as tab-separated lines with a header, without shortening cells. */
export const formatPlain = (columns: readonly Column[], rows: readonly unknown[][]): string[] => [
  columns.map(({head}) => head).join('\t'),
  ...rows.map(row => columns.map((_, at) => clean(row[at])).join('\t')),
]

/** Returns the column widths, or null if the columns do not fit. */
const narrow = (wanted: number[], columns: readonly Column[], room: number): number[] | null => {
  const given = [...wanted]
  for (let over = sum(given) - room; over > 0; over = sum(given) - room) {
    const soft = given.flatMap((wide, at) => (!columns[at]!.keep && wide > leastWidth ? [at] : []))
    const [widest] = soft.toSorted((one, other) => given[other]! - given[one]!)
    if (widest === undefined) return null
    const second = Math.max(leastWidth, ...soft.filter(at => at !== widest).map(at => given[at]!))
    given[widest] = Math.max(leastWidth, given[widest]! - Math.max(1, Math.min(over, given[widest]! - second)))
  }
  return given.some((wide, at) => wide < Math.min(wanted[at]!, 8) && wanted[at]! > wide) ? null : given
}

const sum = (widths: number[]) => widths.reduce((all, one) => all + one, 0)

const stand = (columns: readonly Column[], row: string[], width: number) => {
  const head = Math.max(...columns.map(one => widthOf(one.head)))
  return columns.map((one, at) => {
    const room = width - head - gap
    return `${one.head}${' '.repeat(head - widthOf(one.head) + gap)}${one.keep ? row[at] : shorten(row[at]!, Math.max(room, 8))}`.trimEnd()
  })
}

const pad = (cell: string, width: number, {right = false}: Column) => {
  const shown = shorten(cell, width)
  const blank = ' '.repeat(width - widthOf(shown))
  return right ? blank + shown : shown + blank
}

export const shorten = (text: string, width: number) => {
  if (widthOf(text) <= width) return text
  let shown = ''
  let used = 0
  for (const {segment} of graphemes.segment(text)) {
    used += widthOf(segment)
    if (used > width - 1) break
    shown += segment
  }
  return `${shown}…`
}

const graphemes = new Intl.Segmenter()

/** Returns the display width of a text. Wide East Asian characters and emoji take two columns. */
export const widthOf = (text: string) => {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const {segment} of graphemes.segment(text)) width += isWide(segment) ? 2 : 1
  return width
}

const isWide = (segment: string) =>
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/u.test(
    segment,
  )
