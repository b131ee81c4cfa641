import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Button} from '../ui/button.ts'
import {Dialog} from '../ui/dialog.ts'
import {TextArea, TextField} from '../ui/field.ts'
import {Notice, Problem} from '../ui/notice.ts'
import type {Imported} from './import.ts'

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
      <${Dialog} title=${t.templateSaved} onClose=${onClose}>
        <p>${t.onlyYouAndAdminsCanSeeUntil(made.name)} <a href=${to('templates')}>${t.goToTemplates}</a></p>
        ${made.leftOut.length > 0 && html`<${Notice} kind="warning" title=${t.notIncluded}><ul>${made.leftOut.map(one => html`<li>${one}</li>`)}</ul><//>`}
      <//>
    `
  const actions = html`
    <${Button} onClick=${onClose}>${t.cancel}<//>
    <${Button} kind="main" isBusy=${save.isBusy} disabled=${!name.trim()} onClick=${() => save.run()}>${t.saveTemplate}<//>
  `
  return html`
    <${Dialog} title=${t.saveAsTemplate} onClose=${onClose} actions=${actions}>
      <p class="quiet">${t.importSimilarFilesLaterWithout}</p>
      <${TextField} label=${t.name} maxlength="200" value=${name} onInput=${setName} />
      <${TextArea} label=${t.description} maxlength="2000" value=${description} onInput=${setDescription} />
      <${Problem} error=${save.error} />
    <//>
  `
}
