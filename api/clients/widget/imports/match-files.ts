import {signal} from '@preact/signals'
import {html} from '../html.ts'
import {may} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Notice, say} from '../ui/notice.ts'
import {ChooseFile, DropZone} from './drop-zone.ts'
import type {LoadedImport} from './known.ts'
import {addFile} from './send-queue.ts'
import {Sendings} from './sendings.ts'
import {Slots} from './slots.ts'

type Issue = {path: (string | number)[]; message: string}
type TakenFile = {source: {name: string}; filled?: {slot: string; issues: Issue[]}}

/** The newest file of each import, if it does not fit its slot. Kept here because an upload may end on another page. */
const unfitFiles = signal<Record<string, {name: string; issues: Issue[]} | null>>({})

/** Keeps what does not fit of a file that the server has read. The match page of the import shows it. */
export const keepUnfit = (importId: string, {source, filled}: TakenFile): void => {
  const unfit = filled && filled.issues.length > 0 ? {name: source.name, issues: filled.issues} : null
  unfitFiles.value = {...unfitFiles.value, [importId]: unfit}
}

/** The uploads of an import, the slots of its template, and the button to add files. An import without files shows a large drop zone. */
export const MatchFiles = ({known: {import: found, again}}: {known: LoadedImport}) => {
  const unfit = unfitFiles.value[found.id]
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
      ${unfit && html`<${Notice} kind="warning" title=${t.doesNotFitTheTemplate(unfit.name)}><ul>${unfit.issues.slice(0, 20).map(({message}) => html`<li>${message}</li>`)}</ul><//>`}
      <${Sendings} importId=${found.id} onTaken=${onTaken} />
      ${found.slots.length > 0 && isOpen && html`<${Slots} found=${found} again=${again} onFile=${send} />`}
      ${isOpen && found.sources.length > 0 && html`<p class="row"><${ChooseFile} label=${t.addAnotherFile} onFiles=${sendAll} /></p>`}
    </div>
  `
}
