import {maxRowCells, maxRowCharacters} from '../row.ts'
import type {SheetCell} from './cell.ts'
import {isOds, readTable} from './ods.ts'
import {openRichText, unescapeText} from './rich-text.ts'
import {lastRow, type SheetEnd, type SheetRow, tooLong, tooWide} from './sheet-row.ts'
import {type Attributes, openXml} from './xml.ts'
import {corrupt, type Zip} from './zip.ts'

/** After each piece of XML, yields the rows that the piece completed. Counts merged ranges in `end`. */
export async function* readSheet(zip: Zip, path: string, end: SheetEnd): AsyncGenerator<SheetRow[], void, undefined> {
  if (isOds(zip)) return yield* readTable(zip, path, end)
  let rows: SheetRow[] = []
  const xml = openXml(
    path,
    listRows(row => rows.push(row), end),
  )
  for await (const piece of zip.open(path)) {
    xml.write(piece)
    if (!rows.length) continue
    yield rows
    rows = []
  }
  xml.end()
  if (rows.length) yield rows
}

const listRows = (give: (row: SheetRow) => void, end: SheetEnd) => {
  const inline = openRichText()
  let row: SheetRow | null = null
  let cell: SheetCell | null = null
  let [inValue, inInline, last] = [false, false, 0]
  let next = 0
  const openRow = ({r}: Attributes) => {
    const number = r === undefined ? last + 1 : Number(r)
    if (!(Number.isInteger(number) && number > last && number <= lastRow)) throw corrupt(`row ${r?.slice(0, 20)} follows row ${last}`)
    row = {number, cells: []}
    ;[last, next] = [number, 0]
  }
  const openCell = ({r, t = 'n', s}: Attributes) => {
    const column = r === undefined ? next : columnOf(r)
    if (column >= maxRowCells) throw tooWide(last)
    next = column + 1
    cell = {column, type: t, style: Number(s ?? 0), text: '', formula: false, valued: false}
  }
  const closeCell = () => {
    if (cell && (cell.text !== '' || cell.formula)) row?.cells.push(cell)
    if (row && row.cells.length > maxRowCells) throw tooWide(last)
    cell = null
  }
  const open = (name: string, attributes: Attributes) => {
    if (name === 'c') openCell(attributes)
    else if (name === 'v') inValue = true
    else if (name === 'is') {
      inInline = true
      inline.begin()
    } else if (inInline) inline.open(name, attributes)
    else if (name === 'f' && cell) cell.formula = true
    else if (name === 'row') openRow(attributes)
    else if (name === 'mergeCell') end.merged++
  }
  const close = (name: string) => {
    if (name === 'c') closeCell()
    else if (name === 'v') {
      inValue = false
      if (cell) cell.valued = true
      if (cell?.type === 'str') cell.text = unescapeText(cell.text)
    } else if (name === 'is') {
      inInline = false
      if (cell) Object.assign(cell, {text: inline.end(), valued: true})
    } else if (inInline) inline.close(name)
    else if (name === 'row' && row) {
      give(row)
      row = null
    }
  }
  const text = (characters: string) => {
    if (inInline) inline.text(characters)
    else if (inValue && cell) cell.text += characters
    if (cell && cell.text.length > maxRowCharacters) throw tooLong(last)
  }
  return {open, close, text}
}

/** Returns the column of a cell reference, counted from 0: `AB12` is column 27. */
export const columnOf = (reference: string) => {
  let column = 0
  for (let index = 0; index < reference.length && index < 8; index++) {
    const letter = (reference.charCodeAt(index) | 32) - 96
    if (letter < 1 || letter > 26) break
    column = column * 26 + letter
  }
  return column - 1
}
