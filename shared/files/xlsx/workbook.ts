import {posix} from 'node:path'
import {Refusal} from '../../errors.ts'
import {isOds, listTables} from './ods.ts'
import {readXml} from './xml.ts'
import {corrupt, type Zip} from './zip.ts'

type SheetState = 'visible' | 'hidden' | 'very hidden'
export type Sheet = {name: string; state: SheetState}
type Workbook = {
  sheets: (Sheet & {path: string})[]
  /** The year from which the serial numbers of dates count days. */
  epoch: 1900 | 1904
  styles: string | null
  strings: string | null
}

const mostSheets = 1_000
const mostParts = 20_000

/** Finds the parts of the workbook by its relationships, because the file names inside a workbook can vary. */
export const readWorkbook = async (zip: Zip): Promise<Workbook> => {
  if (isOds(zip)) return readOds(zip)
  const main = await findMain(zip)
  const parts = await readRelationships(zip, main)
  const listed: (Sheet & {id: string})[] = []
  let epoch: Workbook['epoch'] = 1900
  await readXml(main, zip.open(main), {
    open(name, attributes) {
      if (name === 'workbookPr' && isTrue(attributes.date1904)) epoch = 1904
      if (name === 'sheet') listed.push({name: attributes.name ?? '', state: stateOf(attributes.state), id: relationOf(attributes)})
      if (listed.length > mostSheets) throw corrupt(`it has more than ${mostSheets} sheets`)
    },
  })
  const of = (kind: string) => parts.find(part => part.kind === kind && zip.has(part.path))?.path ?? null
  const sheets = listed.flatMap(({name, state, id}) => {
    const part = parts.find(part => part.id === id)
    return part?.kind === 'worksheet' ? [{name, state, path: part.path}] : []
  })
  if (!sheets.length) throw corrupt('it has no sheet of cells')
  return {sheets, epoch, styles: of('styles'), strings: of('sharedStrings')}
}

const readOds = async (zip: Zip): Promise<Workbook> => {
  const sheets = (await listTables(zip, mostSheets)).map(({name, isHidden, path}) => ({
    name,
    path,
    state: isHidden ? ('hidden' as const) : ('visible' as const),
  }))
  if (!sheets.length)
    throw new Refusal(
      'FILE_FORMAT',
      'The OpenDocument file has no sheet. Save the data as a spreadsheet (.xlsx, .ods) or CSV (UTF-8) and send that file',
    )
  return {sheets, epoch: 1900, styles: null, strings: null}
}

/**
 * Returns the sheet `name`. An exact match takes precedence over a match in another letter case. Without a name, returns all visible sheets, or the
 * first sheet if none is visible.
 */
export const listCandidates = ({sheets}: Workbook, name?: string): Workbook['sheets'] => {
  if (name === undefined) {
    const visible = sheets.filter(({state}) => state === 'visible')
    return visible.length ? visible : sheets.slice(0, 1)
  }
  const found = sheets.find(sheet => sheet.name === name) ?? sheets.find(sheet => sheet.name.toLowerCase() === name.toLowerCase())
  if (found) return [found]
  throw new Refusal('SHEET_NOT_FOUND', 'The workbook has no worksheet with this name. Use the name of an existing sheet', {
    sheets: sheets.map(({name, state}) => ({name, state})),
  })
}

type WorkbookPart = {id: string; kind: string; path: string}

const findMain = async (zip: Zip) => {
  const root = zip.has('_rels/.rels') ? (await readRelationships(zip, '')).find(({kind}) => kind === 'officeDocument')?.path : undefined
  const main = root && zip.has(root) ? root : 'xl/workbook.xml'
  if (zip.has(main) && !/\.bin$/i.test(main) && !/^(word|ppt)\//i.test(main)) return main
  throw new Refusal(
    'FILE_FORMAT',
    'The file is a ZIP file but not an .xlsx workbook. It may be an .xlsb, an .ods or a document. Save it as .xlsx or as CSV (UTF-8) and send that',
  )
}

/** Converts the targets of relationships to paths in the ZIP file. Leaves out external targets. */
const readRelationships = async (zip: Zip, part: string): Promise<WorkbookPart[]> => {
  const path = posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`)
  if (!zip.has(path)) return []
  const parts: WorkbookPart[] = []
  await readXml(path, zip.open(path), {
    open(name, {Id = '', Type = '', Target = '', TargetMode}) {
      if (name !== 'Relationship' || TargetMode === 'External') return
      if (parts.length === mostParts) throw corrupt(`${path} names more than ${mostParts} parts`)
      const target = Target.replaceAll('\\', '/')
      const absolute = target.startsWith('/') ? target.slice(1) : posix.join(posix.dirname(part), target)
      parts.push({id: Id, kind: Type.slice(Type.lastIndexOf('/') + 1), path: absolute})
    },
  })
  return parts
}

const isTrue = (value: string | undefined) => value === '1' || value === 'true' || value === 'on'
const stateOf = (state: string | undefined): SheetState =>
  state === 'hidden' ? 'hidden' : state === 'veryHidden' ? 'very hidden' : 'visible'

const relationOf = (attributes: Record<string, string>) => Object.entries(attributes).find(([name]) => /:id$/.test(name))?.[1] ?? ''
