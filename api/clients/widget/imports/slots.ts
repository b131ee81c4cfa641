import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {Select} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {ChooseFile} from './drop-zone.ts'
import type {Imported, Slot} from './import.ts'

type Props = {found: Imported; again: () => Promise<void>; onFile: (file: File, slot: string) => void}

/** Lists the slots of the template. For each, the person chooses an uploaded file or uploads one. */
export const Slots = ({found, again, onFile}: Props) => {
  const fill = useDoing(async (slot: string, sourceId: string) => {
    await client.put(inOrg(`/imports/${found.id}/slots`), {[slot]: sourceId})
    await again()
  })
  return html`
    <section class="sheet" aria-label="Files for the template">
      <h2>Files for the template</h2>
      <ul class="plain slots">
        ${found.slots.map(slot => html`<li key=${slot.slot}><${OneSlot} slot=${slot} found=${found} fill=${(id: string) => fill.run(slot.slot, id)} onFile=${(file: File) => onFile(file, slot.slot)} /></li>`)}
      </ul>
      <${Problem} error=${fill.error} title="This file does not fit this slot" />
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
        <strong>${slot.label}</strong> <${Pill} tone=${slot.sourceId ? 'good' : 'warning'}>${slot.sourceId ? 'filled' : 'file needed'}<//>
        <p class="hint">${slot.columns.length > 0 ? `Columns: ${slot.columns.slice(0, 8).join(', ')}${slot.columns.length > 8 ? ` and ${slot.columns.length - 8} more` : ''}` : 'Any columns'}</p>
      </div>
      ${
        found.sources.length > 0 &&
        html`
        <${Select}
          label=${`File for ${slot.label}`}
          isHidden=${true}
          value=${slot.sourceId ?? ''}
          options=${[{value: '', label: 'Choose an uploaded file …', disabled: true}, ...found.sources.map(({id, label}) => ({value: id, label}))]}
          onChange=${fill}
        />
      `
      }
      <${ChooseFile} label=${slot.sourceId ? 'Upload another file' : 'Upload file'} onFiles=${choose} />
    </div>
  `
}
