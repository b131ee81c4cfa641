import {Refusal} from '../../errors.ts'
import {maxRowCharacters} from '../../files/row.ts'
import {badPlace} from '../../files/text/decoder.ts'
import {utf8Of} from '../../files/text/text.ts'

/** Records are yielded in pieces of about this many characters. The caller stores each piece in one transaction. */
const usualCharacters = 65_536

/**
 * Yields the records of a CSV file that the CRM made, including the header, in pieces. Empty lines are skipped, and invalid UTF-8 becomes replacement
 * characters. The reader of uploaded files takes eight times as long, because it supports every dialect. Throws TextFault for a NUL. Throws Refusal
 * for an unclosed quote, text after a closing quote, or a record above `maxRowCharacters`.
 */
export async function* readBulkCsv(
  bytes: AsyncIterable<Uint8Array>,
  charactersAtOnce = usualCharacters,
): AsyncGenerator<string[][], void, undefined> {
  let [rest, isStart, due] = ['', true, charactersAtOnce]
  for await (const piece of utf8Of(bytes, {encoding: 'utf-8', onBad: () => {}})) {
    const text = piece.toString().replaceAll(badPlace, '\ufffd')
    rest += isStart ? withoutMark(text) : text
    isStart = false
    if (rest.length < due) continue
    const {records, end} = readRecords(rest)
    rest = rest.slice(end)
    due = rest.length + charactersAtOnce
    if (rest.length > maxRowCharacters) throw new Refusal('UNREADABLE', `A record has more than ${maxRowCharacters} characters`)
    if (records.length > 0) yield records
  }
  const {records, end} = readRecords(`${rest}\n`)
  if (end <= rest.length) throw new Refusal('FILE_QUOTE', 'The last record ends inside quotes')
  if (records.length > 0) yield records
}

const withoutMark = (text: string) => (text.startsWith('\ufeff') ? text.slice(1) : text)

const [quote, comma, lineFeed, carriageReturn] = [34, 44, 10, 13] as const

/** `end`: the position at which the first incomplete record begins. */
const readRecords = (text: string): {records: string[][]; end: number} => {
  const records: string[][] = []
  let [end, nextQuote] = [0, text.indexOf('"')]
  for (let line = text.indexOf('\n'); line >= 0; line = text.indexOf('\n', end)) {
    if (nextQuote >= 0 && nextQuote < end) nextQuote = text.indexOf('"', end)
    if (nextQuote >= 0 && nextQuote < line) {
      const record = readQuoted(text, end)
      if (!record) break
      records.push(record.cells)
      end = record.end
    } else {
      const cells = text.slice(end, endOfLine(text, line))
      if (cells !== '') records.push(cells.split(','))
      end = line + 1
    }
  }
  return {records, end}
}

const endOfLine = (text: string, lineFeedAt: number) => (text.charCodeAt(lineFeedAt - 1) === carriageReturn ? lineFeedAt - 1 : lineFeedAt)

/** Returns null if the text ends inside the record. */
const readQuoted = (text: string, start: number): {cells: string[]; end: number} | null => {
  const cells: string[] = []
  for (let at = start; ; at++) {
    const cell = text.charCodeAt(at) === quote ? readQuotedCell(text, at) : readPlainCell(text, at)
    if (!cell) return null
    cells.push(cell.value)
    at = cell.end
    if (text.charCodeAt(at) === carriageReturn) at++
    if (text.charCodeAt(at) === lineFeed) return {cells, end: at + 1}
  }
}

type ReadCell = {value: string; end: number}

const readPlainCell = (text: string, start: number): ReadCell | null => {
  const [commaAt, line] = [text.indexOf(',', start), text.indexOf('\n', start)]
  if (line < 0) return null
  const end = commaAt >= 0 && commaAt < line ? commaAt : endOfLine(text, line)
  return {value: text.slice(start, end), end}
}

const readQuotedCell = (text: string, start: number): ReadCell | null => {
  let close = text.indexOf('"', start + 1)
  let isDoubled = false
  for (; close >= 0 && text.charCodeAt(close + 1) === quote; close = text.indexOf('"', close + 2)) isDoubled = true
  if (close < 0) return null
  const end = close + 1
  const next = text.charCodeAt(end)
  const isEnded = next === comma || next === lineFeed || (next === carriageReturn && text.charCodeAt(end + 1) === lineFeed)
  if (!isEnded && text.length <= end + 1) return null
  if (!isEnded) throw new Refusal('FILE_QUOTE', 'Text follows the closing quote of a cell')
  const value = text.slice(start + 1, close)
  return {value: isDoubled ? value.replaceAll('""', '"') : value, end}
}
