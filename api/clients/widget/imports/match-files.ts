import {html} from '../html.ts'
import {may} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Notice, say} from '../ui/notice.ts'
import {ChooseFile, DropZone} from './drop-zone.ts'
import type {LoadedImport} from './known.ts'
import {addFile} from './send-queue.ts'
import {Sendings} from './sendings.ts'
import {Slots} from './slots.ts'
import {keepUnfit, listUnfit, type TakenFile} from './unfit-files.ts'

/** The uploads of an import, the slots of its template, and the button to add files. An import without files shows a large drop zone. */
export const MatchFiles = ({known: {import: found, again}}: {known: LoadedImport}) => {
  const onTaken = (answer: TakenFile) => {
    keepUnfit(found.id, answer)
    say(t.uploaded(answer.source.name))
    again()
  }
  const send = (file: File, slot?: string) => addFile({importId: found.id, file, slot}, answer => onTaken(answer as TakenFile))
  const sendAll = (files: Iterable<File> | null) => {
    for (const file of files ?? []) send(file)
  }
  if (!may('operator')) return null
  const isOpen = found.state !== 'running' && found.state !== 'expired'
  return html`
    <div class="stack match-files">
      ${
        isOpen &&
        found.sources.length === 0 &&
        html`
        <${DropZone} label=${t.chooseFiles} onFiles=${sendAll}>
          <p><strong>${t.dropOneOrMoreFilesHere}</strong></p>
          <p class="quiet">${t.kindsOfFilesAndUploads}</p>
        <//>
      `
      }
      ${listUnfit(found).map(({id, name, issues}) => html`<${Notice} key=${id} kind="warning" title=${t.doesNotFitTheTemplate(name)}><ul>${issues.slice(0, 20).map(({message}) => html`<li>${message}</li>`)}</ul><//>`)}
      <${Sendings} importId=${found.id} onTaken=${onTaken} />
      ${found.slots.length > 0 && isOpen && html`<${Slots} found=${found} again=${again} onFile=${send} />`}
      ${isOpen && found.sources.length > 0 && html`<p class="row"><${ChooseFile} label=${t.addAnotherFile} onFiles=${sendAll} /></p>`}
    </div>
  `
}
