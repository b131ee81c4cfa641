import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Dialog} from '../ui/dialog.ts'
import {TextArea, TextField} from '../ui/field.ts'
import {Notice, Problem} from '../ui/notice.ts'
import type {Imported} from './import.ts'

/** Saves the import as a template, and lists what the template cannot keep. */
export const SaveTemplate = ({found, onClose}: {found: Imported; onClose: () => void}) => {
  const [name, setName] = useState(found.name)
  const [description, setDescription] = useState('')
  const [made, setMade] = useState<{id: string; name: string; leftOut: string[]} | null>(null)
  const save = useDoing(async () => {
    const body = {fromImport: found.id, name: name.trim(), ...(description.trim() && {description: description.trim()})}
    const {template, leftOut = []}: Json = await client.post(inOrg('/templates'), body)
    setMade({id: template.id, name: template.name, leftOut})
  })
  if (made)
    return html`
      <${Dialog} title="Template saved" onClose=${onClose}>
        <p>Only you and admins can see ${made.name} until you share it. <a href=${to('templates')}>Go to templates</a></p>
        ${made.leftOut.length > 0 && html`<${Notice} kind="warning" title="Not included"><ul>${made.leftOut.map(one => html`<li>${one}</li>`)}</ul><//>`}
      <//>
    `
  const actions = html`
    <${Button} onClick=${onClose}>Cancel<//>
    <${Button} kind="main" isBusy=${save.isBusy} disabled=${!name.trim()} onClick=${() => save.run()}>Save template<//>
  `
  return html`
    <${Dialog} title="Save as template" onClose=${onClose} actions=${actions}>
      <p class="quiet">Import similar files later without mapping them again, manually or on a schedule.</p>
      <${TextField} label="Name" maxlength="200" value=${name} onInput=${setName} />
      <${TextArea} label="Description" maxlength="2000" value=${description} onInput=${setDescription} />
      <${Problem} error=${save.error} />
    <//>
  `
}
