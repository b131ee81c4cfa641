import {useEffect, useRef, useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Dialog} from '../ui/dialog.ts'
import {TextArea, TextField} from '../ui/field.ts'
import {Notice, Problem} from '../ui/notice.ts'
import type {Imported} from './import.ts'
import type {Draft} from './mapping-draft.ts'

/** Whether the mapping is saved, and what can be done with it. It stays in sight. */
export const SaveBar = ({found, draft}: {found: Imported; draft: Draft}) => {
  const [isTemplate, setTemplate] = useState(false)
  const {flows, isChanged, isBehind, save, issues} = draft
  const isSaved = !isChanged && found.state !== 'draft'
  const next = useRef<HTMLAnchorElement>(null)
  useEffect(() => {
    // The button that had the focus is gone with what it did.
    if (isSaved && document.activeElement === document.body) next.current?.focus()
  }, [isSaved])
  return html`
    <div class="save-bar">
      ${isBehind && html`<${Notice} kind="warning" title="The import was changed meanwhile">What you see is your own draft. Saving it replaces what is saved now.<//>`}
      <p role="status" class="grow">${issues.length > 0 ? `Not saved: ${issues.length} to mend` : isChanged ? 'Not saved yet; kept in this window' : isSaved ? 'Saved' : flows.length > 0 && may('operator') ? 'Save it to make the import ready' : ''}</p>
      <div class="actions">
        ${isChanged && html`<${Button} onClick=${draft.forget}>${isBehind ? 'Take what is saved' : 'Back to what is saved'}<//>`}
        ${isSaved && may('builder') && html`<${Button} onClick=${() => setTemplate(true)}>Save as template<//>`}
        ${!isSaved && may('operator') && html`<${Button} kind="main" isBusy=${save.isBusy} disabled=${found.state === 'running' || flows.length === 0} onClick=${() => save.run()}>Save the mapping<//>`}
        ${isSaved && html`<a ref=${next} class="button main" href=${to('imports', found.id, 'check')}>Go on to check</a>`}
      </div>
      <${Problem} error=${save.error} title="The mapping is not saved" />
      ${isTemplate && html`<${SaveTemplate} found=${found} onClose=${() => setTemplate(false)} />`}
    </div>
  `
}

/** What cannot be kept in a template is told. */
const SaveTemplate = ({found, onClose}: {found: Imported; onClose: () => void}) => {
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
      <${Dialog} title="The template is saved" onClose=${onClose}>
        <p>${made.name} is yours until you share it. <a href=${to('templates')}>Go to the templates</a></p>
        ${made.leftOut.length > 0 && html`<${Notice} kind="warning" title="Not part of it"><ul>${made.leftOut.map(one => html`<li>${one}</li>`)}</ul><//>`}
      <//>
    `
  const actions = html`
    <${Button} onClick=${onClose}>Cancel<//>
    <${Button} kind="main" isBusy=${save.isBusy} disabled=${!name.trim()} onClick=${() => save.run()}>Save the template<//>
  `
  return html`
    <${Dialog} title="Save as template" onClose=${onClose} actions=${actions}>
      <p class="quiet">Files like these can then be imported without mapping them again, by hand or by a schedule.</p>
      <${TextField} label="Name" maxlength="200" value=${name} onInput=${setName} />
      <${TextArea} label="What it is for" maxlength="2000" value=${description} onInput=${setDescription} />
      <${Problem} error=${save.error} />
    <//>
  `
}
