import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {may} from '../state/session.ts'
import {Notice, say} from '../ui/notice.ts'
import {DropZone} from './drop-zone.ts'
import {ImportFrame, NextStep} from './frame.ts'
import type {LoadedImport} from './known.ts'
import {addFile} from './send-queue.ts'
import {Sendings} from './sendings.ts'
import {Slots} from './slots.ts'
import {SourceCard} from './source-card.ts'

type Issue = {path: (string | number)[]; message: string}
type ChosenFiles = {source: {name: string}; filled?: {slot: string; issues: Issue[]}}

/** The files step: upload files and change how they are read. */
export const Files = ({params: {id}}: PageProps) => html`
  <${ImportFrame} id=${id} step="files" lead="Upload the files to import. Nothing is written to the CRM yet.">
    ${(loadedImport: LoadedImport) => html`<${FilesOf} known=${loadedImport} />`}
  <//>
`

const FilesOf = ({known: loadedImport}: {known: LoadedImport}) => {
  const {import: found, again} = loadedImport
  const [unfit, setUnfit] = useState<{name: string; issues: Issue[]} | null>(null)
  const onTaken = ({source, filled}: ChosenFiles) => {
    setUnfit(filled && filled.issues.length > 0 ? {name: source.name, issues: filled.issues} : null)
    say(`Uploaded ${source.name}`)
    again()
  }
  const send = (file: File, slot?: string) => addFile({importId: found.id, file, slot}, answer => onTaken(answer as ChosenFiles))
  const sendAll = (files: File[]) => {
    for (const file of files) send(file)
  }
  const isOpen = found.state !== 'running' && found.state !== 'expired' && may('operator')
  return html`
    <div class="stack">
      ${found.state === 'running' && html`<${Notice}>A run is using these files. You can change them when it has ended.<//>`}
      ${
        isOpen &&
        html`
        <${DropZone} label="Choose files" onFiles=${sendAll}>
          <p><strong>${found.sources.length === 0 ? 'Drop one or more files here' : 'Drop more files here'}</strong></p>
          <p class="quiet">CSV or Excel (.xlsx). Interrupted uploads of large files can be resumed.</p>
        <//>
      `
      }
      ${unfit && html`<${Notice} kind="warning" title=${`${unfit.name} does not fit the template`}><ul>${unfit.issues.slice(0, 20).map(({message}) => html`<li>${message}</li>`)}</ul><//>`}
      ${may('operator') && html`<${Sendings} importId=${found.id} onTaken=${onTaken} />`}
      ${found.slots.length > 0 && isOpen && html`<${Slots} found=${found} again=${again} onFile=${send} />`}
      ${found.sources.map(source => html`<${SourceCard} key=${source.id} found=${found} source=${source} again=${again} />`)}
      ${found.sources.length > 0 && html`<${NextStep} id=${found.id} step="columns" />`}
    </div>
  `
}
