/** Writes records as CSV (RFC 4180). Quotes a cell only if it needs quotes. */
export const writeCsv = (records: Iterable<string[]>): string => {
  let text = ''
  for (const record of records) text += `${record.map(writeCell).join(',')}\r\n`
  return text
}

const writeCell = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Reads CSV. Guesses the delimiter from the header and ignores a byte order mark. */
export const readCsv = (text: string): string[][] => {
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text
  const delimiter = guessDelimiter(source.slice(0, source.search(/\r?\n|$/)))
  const records: string[][] = []
  let record: string[] = []
  for (let at = 0; at < source.length; ) {
    const [cell, next] = readCell(source, at, delimiter)
    record.push(cell)
    at = next
    if (source[at] === delimiter) {
      at += 1
      if (at < source.length) continue
      record.push('')
    }
    records.push(record)
    record = []
    while (source[at] === '\r' || source[at] === '\n') at += 1
  }
  return records
}

const guessDelimiter = (header: string) => {
  const counts = [',', ';', ':', '|'].map(sign => ({sign, count: header.split(sign).length}))
  return counts.toSorted((one, other) => other.count - one.count)[0]!.sign
}

const readCell = (source: string, start: number, delimiter: string): [cell: string, next: number] => {
  let at = start
  if (source[at] !== '"') {
    while (at < source.length && source[at] !== delimiter && source[at] !== '\n' && source[at] !== '\r') at += 1
    return [source.slice(start, at), at]
  }
  let cell = ''
  for (at += 1; at < source.length; at++) {
    if (source[at] !== '"') cell += source[at]
    else if (source[at + 1] === '"') cell += source[(at += 1)]
    else break
  }
  return [cell, at + 1]
}
