import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {Imported, Source} from '../imports/import.ts'
import {useDoing} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {Problem} from '../ui/notice.ts'

/** The templates that this page saved, by import and version, so that a second click does not save another one. */
const savedTemplates = new Map<string, string>()

/** A button that opens a new weekly schedule of the import's template. An import without a template is first saved as a template. */
export const Repeat = ({found}: {found: Imported}) => {
  const goOn = goIfHere()
  const repeat = useDoing(async () => {
    const template = found.templateId ?? (await saveTemplate(found))
    goOn(to('templates', template, 'schedules', 'new', {repeat: 'weekly'}))
  })
  // A schedule cannot run delete flows, because a person must confirm the number of records.
  const isUnfit = found.flows.some(({action}) => action === 'delete') || takesSeveralFiles(found)
  if (!may('builder') || found.state === 'expired' || isUnfit) return null
  return html`<${Button} isBusy=${repeat.isBusy} onClick=${() => repeat.run()}>${t.repeatWeekly}<//><${Problem} error=${repeat.error} />`
}

/** Whether a template of the import takes several files with different columns. A schedule fetches only one file, but may read several of its sheets. */
const takesSeveralFiles = ({flows, sources}: Imported): boolean => {
  const used = sources.filter(({id}) => flows.some(({sourceId}) => sourceId === id))
  return used.slice(1).some(source => !namesSheet(source) && columnsOf(source) !== columnsOf(used[0]!))
}

const columnsOf = ({columns, fileColumns}: Source) => JSON.stringify(fileColumns ?? columns.map(({name}) => name))

/** A template names the sheet of a workbook, unless the workbook has only one sheet. */
const namesSheet = ({reader, sniffed}: Source) => 'sheet' in reader && !(sniffed && 'sheets' in sniffed && sniffed.how === 'only')

/** Saves the import as a template, unless this page already did and the template still exists. Returns the id of the template. */
const saveTemplate = async ({id, name, version}: Imported): Promise<string> => {
  const key = `${id} ${version}`
  const saved = savedTemplates.get(key)
  const exists = () =>
    client.get(inOrg(`/templates/${saved}`)).then(
      () => true,
      () => false,
    )
  if (saved && (await exists())) return saved
  const {template}: Json = await client.post(inOrg('/templates'), {fromImport: id, name})
  savedTemplates.set(key, template.id)
  return template.id
}
