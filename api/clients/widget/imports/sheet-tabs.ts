import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {goIfHere, place, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Problem, say} from '../ui/notice.ts'
import {Tabs} from '../ui/tabs.ts'
import type {Flow, Imported, SheetOutline, Source} from './import.ts'
import {sheetsOf} from './reading.ts'

/** A sheet that is not part of the import. `source`: the first source of the import from the same workbook. */
type OpenSheet = SheetOutline & {source: Source}

/** Lists the sheets that are in the import's workbooks but not part of the import. Sheets without rows are left out. */
const listOpenSheets = ({sources}: Imported): OpenSheet[] =>
  [...Map.groupBy(sources, ({sha256}) => sha256).values()].flatMap(ofWorkbook => {
    const [source] = ofWorkbook
    const read = ofWorkbook.flatMap(({reader}) => (reader.format === 'xlsx' ? [reader.sheet] : []))
    const open = sheetsOf(source!.sniffed).filter(({name, rows}) => !read.includes(name) && rows !== 0)
    return open.map(sheet => ({...sheet, source: source!}))
  })

/** Returns the sheet that the URL names, if the sheet is not part of the import yet. */
export const chooseOpenSheet = (found: Imported): OpenSheet | undefined => {
  const {query} = place.value
  return listOpenSheets(found).find(({name, source}) => name === query.get('sheet') && source.id === query.get('source'))
}

/** A tab for each file of an import and each open sheet, with the number of rows. Renders nothing if there is only one. */
export const SourceTabs = ({found, flows, here}: {found: Imported; flows: Flow[]; here: Source | OpenSheet}) => {
  const open = may('operator') && found.state !== 'running' ? listOpenSheets(found) : []
  if (found.sources.length + open.length < 2) return null
  const isRead = (source: Source) => flows.some(({sourceId}) => sourceId === source.id)
  const several = new Set(open.map(({source}) => source.sha256)).size > 1
  const tabs = [
    ...found.sources.map(source => ({
      href: to('imports', found.id, 'match', {source: source.id}),
      label: html`${source.label} <span class="quiet">${t.rowCount(source.rows)}${isRead(source) ? '' : t.notImportedSuffix}</span>`,
      isHere: source === here,
    })),
    ...open.map(({name, state, rows, source}) => ({
      href: to('imports', found.id, 'match', {source: source.id, sheet: name}),
      label: html`${several ? `${source.name}: ${name}` : name} <span class="quiet">${rows === undefined ? t.notImportedYet : t.rowCount(rows) + t.notImportedSuffix}${state === 'visible' ? '' : `, ${t.hiddenSheet}`}</span>`,
      isHere: 'source' in here && here.name === name && here.source === source,
    })),
  ]
  return html`<${Tabs} label=${t.filesAndSheets} tabs=${tabs} />`
}

export const OpenSheetCard = ({found, sheet, again}: {found: Imported; sheet: OpenSheet; again: () => Promise<void>}) => {
  const {name, rows, source} = sheet
  const add = useDoing(async () => {
    const goOn = goIfHere()
    const label = `${source.name}: ${name}`.slice(0, 255)
    const {source: added} = await client.post(inOrg(`/imports/${found.id}/sources`), {fromSource: source.id, sheet: name, label})
    await again()
    say(t.addedSheet(name))
    goOn(to('imports', found.id, 'match', {source: added.id}))
  })
  return html`
    <section class="sheet" aria-label=${name}>
      <h2>${name}</h2>
      <p>${rows !== undefined && `${t.rowCount(rows)}. `}${t.thisSheetIsNotImported(source.name)}</p>
      <p><${Button} kind="main" isBusy=${add.isBusy} onClick=${() => add.run()}>${t.importThisSheet}<//></p>
      <${Problem} error=${add.error} title=${t.couldNotAddTheSheet} />
    </section>
  `
}
