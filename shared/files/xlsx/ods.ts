import {Refusal} from '../../errors.ts'
import {maxRowCells, maxRowCharacters} from '../row.ts'
import type {SheetCell} from './cell.ts'
import {lastRow, type SheetEnd, type SheetRow, tooLong, tooWide} from './sheet-row.ts'
import {type Attributes, type Handlers, openXml, readXml} from './xml.ts'
import {corrupt, type Zip} from './zip.ts'

/** The index of the percentage format in the list that `readStyles` of `styles.ts` returns for these files. */
const percentStyle = 1
const content = 'content.xml'
const rowsAtOnce = 500
/** Maximum cells that one piece of XML may create, because all of them are in memory together. */
const mostCellsAtOnce = 1_000_000

/** Also true for OpenDocument texts, in which `listTables` finds no tables. Source: OpenDocument 1.3, part 2 (packages) and part 3 (schema). */
export const isOds = (zip: Zip): boolean => zip.has('mimetype') && zip.has(content)

/** The path of a table ends with `#` and the position of the table, from 0. */
export const listTables = async (zip: Zip, most: number): Promise<{name: string; isHidden: boolean; path: string}[]> => {
  if (zip.has('META-INF/manifest.xml')) await readXml('META-INF/manifest.xml', zip.open('META-INF/manifest.xml'), {open: refuseEncrypted})
  const hidden = new Set<string>()
  const tables: {name: string; isHidden: boolean; path: string}[] = []
  let [style, inSpreadsheet, depth, bytes] = ['', false, 0, 0]
  async function* counted() {
    for await (const piece of zip.open(content)) {
      bytes += piece.length
      yield piece
    }
  }
  await readXml(content, counted(), {
    open(name, attributes) {
      if (name === 'style') style = attributes['style:name'] ?? ''
      if (name === 'table-properties' && attributes['table:display'] === 'false') hidden.add(style)
      if (name === 'spreadsheet') inSpreadsheet = true
      if (name !== 'table' || !inSpreadsheet || depth++ > 0) return
      const isHidden = hidden.has(attributes['table:style-name'] ?? '')
      tables.push({name: attributes['table:name'] ?? '', isHidden, path: `${content}#${tables.length}`})
      if (tables.length > most) throw corrupt(`it has more than ${most} sheets`)
    },
    close(name) {
      if (name === 'table' && inSpreadsheet) depth--
    },
  })
  // The rows are read from the same XML, which would count twice towards the unpack limit.
  zip.count(-bytes)
  return tables
}

const refuseEncrypted = (name: string) => {
  if (name !== 'encryption-data') return
  throw new Refusal('FILE_ENCRYPTED', 'The workbook is protected by a password. Save it without one and send that')
}

type RepeatedRow = SheetRow & {repeated: number}

/** Expands repeated rows piece by piece. Each copy counts towards the unpack limit. */
export async function* readTable(zip: Zip, path: string, end: SheetEnd): AsyncGenerator<SheetRow[], void, undefined> {
  const table = openTable(Number(path.slice(path.indexOf('#') + 1)), end)
  const xml = openXml(content, table)
  for await (const piece of zip.open(content)) {
    xml.write(piece)
    for (const row of table.take()) yield* copiesOf(row, zip)
    if (table.isOver()) return
  }
  xml.end()
}

function* copiesOf({number, cells, repeated}: RepeatedRow, zip: Zip) {
  const bytes = cells.reduce((sum, {text}) => sum + text.length, 0)
  for (let at = 0; at < repeated; at += rowsAtOnce) {
    const copies = Math.min(rowsAtOnce, repeated - at)
    zip.count(bytes * copies)
    yield Array.from({length: copies}, (_, more) => ({number: number + at + more, cells}))
  }
}

/** Elements inside a cell. Their text is not part of the cell's value. */
const otherElements = new Set([
  'annotation',
  'table',
  'frame',
  'control',
  'ruby-text',
  'custom-shape',
  'caption',
  'connector',
  'measure',
  'rect',
  'line',
  'polyline',
  'polygon',
  'regular-polygon',
  'path',
  'circle',
  'ellipse',
])

type OpenCell = {attributes: Attributes; paragraphs: string[]; isCovered: boolean}

const addText = ({paragraphs}: OpenCell, text: string, row: number) => {
  paragraphs[paragraphs.length - 1] += text
  if (paragraphs.length > maxRowCharacters || paragraphs.at(-1)!.length > maxRowCharacters) throw tooLong(row)
}

const openTable = (wanted: number, end: SheetEnd) => {
  const rows: RepeatedRow[] = []
  let row: RepeatedRow | null = null
  let cell: OpenCell | null = null
  let [table, depth, inSpreadsheet, skipped, column, next, inText, made] = [-1, 0, false, 0, 0, 1, 0, 0]
  const openInCell = (of: OpenCell, name: string, attributes: Attributes) => {
    if (skipped > 0 || otherElements.has(name)) skipped++
    else if (name === 'p') {
      of.paragraphs.push('')
      inText++
    } else if (inText === 0) return
    else if (name === 's') addText(of, ' '.repeat(countOf(attributes['text:c'], maxRowCharacters)), next)
    else if (name === 'tab') addText(of, '\t', next)
    else if (name === 'line-break') addText(of, '\n', next)
  }
  const closeCell = (of: OpenCell) => {
    const repeated = countOf(of.attributes['table:number-columns-repeated'], Number.MAX_SAFE_INTEGER)
    const read = of.isCovered ? null : readCell(of)
    for (let at = column; read && at < column + repeated; at++) {
      if (at >= maxRowCells) throw tooWide(next)
      if (++made > mostCellsAtOnce) throw corrupt('it has too many cells in one place, usually because cells are repeated')
      row!.cells.push({...read, column: at})
    }
    if (isMerged(of.attributes)) end.merged++
    ;[column, cell] = [column + repeated, null]
  }
  const closeRow = (of: RepeatedRow) => {
    if (of.cells.length > 0 && next > lastRow) throw corrupt(`it has more than ${lastRow} rows`)
    if (of.cells.length > 0) rows.push({...of, repeated: Math.min(of.repeated, lastRow - next + 1)})
    next += of.repeated
    row = null
  }
  const handlers: Required<Handlers> = {
    open(name, attributes) {
      if (cell) openInCell(cell, name, attributes)
      else if (name === 'spreadsheet') inSpreadsheet = true
      else if (name === 'table' && inSpreadsheet && depth++ === 0) table++
      else if (table !== wanted) return
      else if (name === 'table-row')
        [row, column] = [{number: next, cells: [], repeated: countOf(attributes['table:number-rows-repeated'], lastRow)}, 0]
      else if (row && (name === 'table-cell' || name === 'covered-table-cell'))
        cell = {attributes, paragraphs: [], isCovered: name === 'covered-table-cell'}
    },
    close(name) {
      if (skipped > 0) skipped--
      else if (cell && name === 'p') inText--
      else if (cell && (name === 'table-cell' || name === 'covered-table-cell')) closeCell(cell)
      else if (row && name === 'table-row') closeRow(row)
      else if (!cell && name === 'table' && inSpreadsheet) depth--
    },
    text(characters) {
      if (cell && inText > 0 && skipped === 0) addText(cell, characters.replaceAll(/[ \t\r\n]+/g, ' '), next)
    },
  }
  const take = () => {
    made = 0
    return rows.splice(0)
  }
  return {...handlers, take, isOver: () => table > wanted || (table === wanted && depth === 0)}
}

const countOf = (text: string | undefined, most: number): number => {
  const count = Number(text ?? 1)
  if (!(Number.isInteger(count) && count > 0)) throw corrupt('a number of repetitions is invalid')
  return Math.min(count, most)
}

const isMerged = (attributes: Attributes) =>
  ['table:number-columns-spanned', 'table:number-rows-spanned'].some(name => Number(attributes[name] ?? 1) > 1)

/** Converts the cell to the form that the reader of .xlsx yields. Returns null for an empty cell without a formula. */
const readCell = ({attributes, paragraphs}: OpenCell): Omit<SheetCell, 'column'> | null => {
  const formula = attributes['table:formula'] !== undefined
  const kind = attributes['office:value-type']
  const shown = paragraphs.join('\n')
  const value = attributes['office:value'] ?? ''
  const as = (type: string, text: string, style = 0) => ({type, text, style, formula, valued: kind !== undefined || shown !== ''})
  if (attributes['calcext:value-type'] === 'error') return as('e', shown)
  if (kind === 'float' || kind === 'currency') return {...as('n', value), ...(isPadded(shown, value) && {shown: shown.trim()})}
  if (kind === 'percentage') return as('n', value, percentStyle)
  if (kind === 'boolean') return as('b', attributes['office:boolean-value'] ?? '')
  if (kind === 'date') return as('d', (attributes['office:date-value'] ?? '').replace(/\.0+$/, ''))
  if (kind === 'time') return as('d', clockOf(attributes['office:time-value'] ?? ''))
  const text = attributes['office:string-value'] ?? shown
  return text === '' && !formula ? null : as('inlineStr', text)
}

/** A grouped number, or a zero with decimals. */
const grouped = /^\D*(?:0[.,]0+|\d{1,3}([.,'\u2019])\d{3}(?:\1\d{3})*)\D*$/
const withoutZeros = (digits: string) => digits.replace(/^0+(?=\d)/, '')

/**
 * Whether a whole number is displayed with leading zeros (`00123`), or with characters between its digits that do not group them (`12-34`). A
 * postcode or phone number would lose them.
 */
const isPadded = (shown: string, value: string): boolean => {
  const digits = shown.replace(/\D/g, '')
  const [, stored] = /^-?(\d+)$/.exec(value) ?? []
  if (stored === undefined || grouped.test(shown) || withoutZeros(digits) !== withoutZeros(stored)) return false
  return digits.length > stored.length || /[^\d\s.,'\u2019]/.test(/\d.*\d/s.exec(shown)?.[0] ?? '')
}

/** Writes `PT10H30M00S` as `10:30:00`. Other durations stay as they are. */
const clockOf = (duration: string): string => {
  const [, sign, hours, minutes, seconds, fraction = ''] = /^(-?)PT(\d{1,6})H(\d{1,2})M(\d{1,2})(\.\d{1,9})?S$/.exec(duration) ?? []
  if (hours === undefined) return duration
  const two = (text: string) => text.padStart(2, '0')
  return `${sign}${two(hours)}:${two(minutes!)}:${two(seconds!)}${Number(fraction || 0) === 0 ? '' : fraction.replace(/(?<!0)0+$/, '')}`
}
