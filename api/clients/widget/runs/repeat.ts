import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {Imported} from '../imports/import.ts'
import {useDoing} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {Problem} from '../ui/notice.ts'

/** A button that opens a new weekly schedule of the import's template. An import without a template is first saved as a template. */
export const Repeat = ({found}: {found: Imported}) => {
  const goOn = goIfHere()
  const repeat = useDoing(async () => {
    const template = found.templateId ?? (await saveTemplate(found))
    goOn(to('templates', template, 'schedules', 'new', {repeat: 'weekly'}))
  })
  // A schedule cannot run delete flows, because a person must confirm the number of records.
  if (!may('builder') || found.state === 'expired' || found.flows.some(({action}) => action === 'delete')) return null
  return html`<${Button} isBusy=${repeat.isBusy} onClick=${() => repeat.run()}>${t.repeatWeekly}<//><${Problem} error=${repeat.error} />`
}

const saveTemplate = async ({id, name}: Imported): Promise<string> => {
  const {template}: Json = await client.post(inOrg('/templates'), {fromImport: id, name})
  return template.id
}
