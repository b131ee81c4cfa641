import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Select} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {ChooseFile} from './drop-zone.ts'
import type {Imported, Slot} from './import.ts'

type Props = {found: Imported; again: () => Promise<void>; onFile: (file: File, slot: string) => void}

export const Slots = ({found, again, onFile}: Props) => {
  const fill = useDoing(async (slot: string, sourceId: string) => {
    await client.put(inOrg(`/imports/${found.id}/slots`), {[slot]: sourceId})
    await again()
  })
  return html`
    <section class="sheet" aria-label=${t.filesForTheTemplate}>
      <h2>${t.filesForTheTemplate}</h2>
      <ul class="plain slots">
        ${found.slots.map(slot => html`<li key=${slot.slot}><${OneSlot} slot=${slot} found=${found} fill=${(id: string) => fill.run(slot.slot, id)} onFile=${(file: File) => onFile(file, slot.slot)} /></li>`)}
      </ul>
      <${Problem} error=${fill.error} title=${t.thisFileDoesNotFitThisSlot} />
    </section>
  `
}

type OneProps = {slot: Slot; found: Imported; fill: (source: string) => void; onFile: (file: File) => void}

const OneSlot = ({slot, found, fill, onFile}: OneProps) => {
  const choose = (files: FileList | null) => {
    const file = files?.[0]
    if (file) onFile(file)
  }
  return html`
    <div class="row">
      <div class="grow">
        <strong>${slot.label}</strong> <${Pill} tone=${slot.sourceId ? 'good' : 'warning'}>${slot.sourceId ? t.filled : t.fileNeeded}<//>
        <p class="hint">${slot.columns.length > 0 ? sayColumns(slot.columns) : t.anyColumns}</p>
      </div>
      ${
        found.sources.length > 0 &&
        html`
        <${Select}
          label=${t.fileFor(slot.label)}
          isHidden=${true}
          value=${slot.sourceId ?? ''}
          options=${[{value: '', label: t.chooseAnUploadedFile, disabled: true}, ...found.sources.map(({id, label}) => ({value: id, label}))]}
          onChange=${fill}
        />
      `
      }
      <${ChooseFile} label=${slot.sourceId ? t.uploadAnotherFile : t.uploadFile} onFiles=${choose} />
    </div>
  `
}

const mostNamed = 8

const sayColumns = (columns: string[]) => {
  const named = columns.slice(0, mostNamed).join(', ')
  return t.columnsNamed(columns.length > mostNamed ? t.andMore(named, columns.length - mostNamed) : named)
}
