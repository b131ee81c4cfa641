import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {DropZone} from '../imports/drop-zone.ts'
import {reloadImport} from '../imports/known.ts'
import {addFile} from '../imports/send-queue.ts'
import {keepUnfit} from '../imports/unfit-files.ts'
import {embed} from '../state/embed.ts'
import {useDoing} from '../state/load.ts'
import {go, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/embed.ts'
import {count} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {Page} from '../ui/page.ts'

export const EmbedStart = () => {
  const {template, rowsLeft} = embed.value!
  const create = useDoing(async (files: File[]) => {
    const name = files[0]!.name.slice(0, 200)
    const {import: made} = await client.post<{import: Json}>(inOrg('/imports'), {templateId: template.id, name})
    const slot = made.slots.length === 1 ? made.slots[0].slot : undefined
    const taken = (answer: Json) => {
      keepUnfit(made.id, answer)
      void reloadImport(made.id)
    }
    for (const file of files) addFile({importId: made.id, file, slot}, taken)
    go(to('imports', made.id, 'match'))
  })
  return html`
    <${Page} title=${template.name} lead=${t.upToRows(count(rowsLeft))}>
      <${DropZone} label=${t.chooseFile} onFiles=${create.run} isMany=${false}>
        <p><strong>${create.isBusy ? t.creating : t.dropAFile}</strong></p>
        <p class="quiet">${t.kindsOfFiles}</p>
      <//>
      <${Problem} error=${create.error} title=${t.couldNotStart} />
    <//>
  `
}
