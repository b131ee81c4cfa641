import {once} from 'node:events'
import type {Readable} from 'node:stream'
import {ZipFile} from 'yazl'

/** A cell. `t`, `s`, `v` and `f` have the meaning of the XLSX format. `xml` replaces the whole cell. */
type WrittenWorkbook = {t?: string; s?: number; v?: string | number; f?: string; xml?: string}
export type Cell = string | number | boolean | null | WrittenWorkbook
export type SheetOf = {
  name: string
  state?: 'hidden' | 'veryHidden'
  /** The rows and cells by position. A hole leaves out a row or cell. */
  rows?: readonly (readonly Cell[] | undefined)[]
  /** `data`: XML that replaces `sheetData`. `after`: XML that follows it. */
  data?: string
  after?: string
}
type Book = {
  sheets: SheetOf[]
  date1904?: boolean
  /** Format codes, or numbers of built-in formats. A style number n means the n-th of them, from 1. */
  formats?: (string | number)[]
  /** Whether texts are stored in the table of shared strings, as most programs do. Otherwise they are in the cells. */
  shared?: boolean
  /** Items of the table of shared strings, as XML, before those of the cells. */
  items?: string[]
  /** Parts of the file by path. They replace the generated parts, or are added to them. */
  parts?: Record<string, string>
}

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packaged = 'http://schemas.openxmlformats.org/package/2006/relationships'
const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

export const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

export const writeWorkbook = async (book: Book): Promise<Buffer> => zip(partsOf(book))

export const partsOf = ({sheets, date1904 = false, formats = [], shared = false, items = [], parts = {}}: Book): Record<string, string> => {
  const strings = [...items]
  const written = sheets.map(sheet => sheetXml(sheet, shared ? strings : null))
  const relations = sheets.map((_, n) => relation(`rId${n + 1}`, 'worksheet', `worksheets/sheet${n + 1}.xml`))
  const tagged = sheets.map(
    ({name, state}, n) => `<sheet name="${escapeXml(name)}" sheetId="${n + 1}"${state ? ` state="${state}"` : ''} r:id="rId${n + 1}"/>`,
  )
  return {
    '_rels/.rels': relationships([relation('rId1', 'officeDocument', 'xl/workbook.xml')]),
    'xl/workbook.xml': `${head}<workbook xmlns="${main}" xmlns:r="${office}"><workbookPr${date1904 ? ' date1904="1"' : ''}/><sheets>${tagged.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships([
      ...relations,
      relation('rIdS', 'styles', 'styles.xml'),
      ...(strings.length ? [relation('rIdT', 'sharedStrings', 'sharedStrings.xml')] : []),
    ]),
    'xl/styles.xml': stylesXml(formats),
    ...(strings.length && {
      'xl/sharedStrings.xml': `${head}<sst xmlns="${main}">${strings.map(item => `<si>${item}</si>`).join('')}</sst>`,
    }),
    ...Object.fromEntries(written.map((xml, n) => [`xl/worksheets/sheet${n + 1}.xml`, xml])),
    ...parts,
  }
}

const relationships = (all: string[]) => `${head}<Relationships xmlns="${packaged}">${all.join('')}</Relationships>`
const relation = (id: string, type: string, target: string) => `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"/>`

const stylesXml = (formats: (string | number)[]) => {
  const codes = formats.map((format, n) =>
    typeof format === 'number' ? '' : `<numFmt numFmtId="${164 + n}" formatCode="${escapeXml(format)}"/>`,
  )
  const styles = formats.map((format, n) => `<xf numFmtId="${typeof format === 'number' ? format : 164 + n}" applyNumberFormat="1"/>`)
  return `${head}<styleSheet xmlns="${main}"><numFmts>${codes.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs></styleSheet>`
}

const sheetXml = ({rows = [], data, after = ''}: SheetOf, strings: string[] | null) => {
  const written =
    data ??
    Array.from(rows, (row, n) =>
      row ? `<row r="${n + 1}">${Array.from(row, (cell, at) => cellXml(cell, at, n + 1, strings)).join('')}</row>` : '',
    ).join('')
  return `${head}<worksheet xmlns="${main}"><sheetData>${written}</sheetData>${after}</worksheet>`
}

export const nameOf = (column: number): string =>
  (column < 26 ? '' : nameOf(Math.floor(column / 26) - 1)) + String.fromCharCode(65 + (column % 26))

const cellXml = (cell: Cell | undefined, at: number, row: number, strings: string[] | null) => {
  if (cell === null || cell === undefined) return ''
  const {t, s, v, f, xml} = writtenAs(cell, strings)
  const attributes = [`r="${nameOf(at)}${row}"`, t && `t="${t}"`, s && `s="${s}"`].filter(Boolean).join(' ')
  return `<c ${attributes}>${f === undefined ? '' : `<f>${escapeXml(f)}</f>`}${xml ?? (v === undefined ? '' : `<v>${escapeXml(String(v))}</v>`)}</c>`
}

const writtenAs = (cell: Exclude<Cell, null>, strings: string[] | null): WrittenWorkbook => {
  if (typeof cell === 'object') return cell
  if (typeof cell === 'number') return {v: cell}
  if (typeof cell === 'boolean') return {t: 'b', v: cell ? 1 : 0}
  const text = `<t xml:space="preserve">${escapeXml(cell)}</t>`
  if (!strings) return {t: 'inlineStr', xml: `<is>${text}</is>`}
  const known = strings.indexOf(text)
  return {t: 's', v: known >= 0 ? known : strings.push(text) - 1}
}

export const zip = async (parts: Record<string, string | Buffer>): Promise<Buffer> => {
  const file = new ZipFile()
  for (const [path, content] of Object.entries(parts)) file.addBuffer(Buffer.from(content), path)
  file.end()
  const chunks: Buffer[] = []
  const output = file.outputStream as unknown as Readable
  output.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(output, 'end')
  return Buffer.concat(chunks)
}
