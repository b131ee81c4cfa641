import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm, Dialog} from '../ui/dialog.ts'
import {TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import type {Imported} from './import.ts'

type Props = {found: Pick<Imported, 'id' | 'name' | 'version'>; onClose: () => void; onDone: () => unknown}

/** Refused where somebody changed the import since it was read: then it is read again first. */
export const RenameImport = ({found, onClose, onDone}: Props) => {
  const [name, setName] = useState(found.name)
  const save = useDoing(async () => {
    await client.patch(inOrg(`/imports/${found.id}`), {name: name.trim()}, {'if-match': `"${found.version}"`})
    await onDone()
    say(`It is called ${name.trim()} now`)
    onClose()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    if (name.trim()) save.run()
  }
  const actions = html`
    <${Button} onClick=${onClose}>Cancel<//>
    <${Button} kind="main" isBusy=${save.isBusy} disabled=${!name.trim()} onClick=${() => save.run()}>Rename<//>
  `
  return html`
    <${Dialog} title="Rename the import" onClose=${onClose} actions=${actions}>
      <form onSubmit=${submit}><${TextField} label="Name" maxlength="200" value=${name} onInput=${setName} /></form>
      <${Problem} error=${save.error} />
    <//>
  `
}

export const DeleteImport = ({found, onClose, onDone}: Props) => {
  const remove = async () => {
    await client.delete(inOrg(`/imports/${found.id}`))
    await onDone()
    say(`${found.name} is deleted`)
  }
  return html`
    <${Confirm} title=${`Delete ${found.name}?`} action="Delete" isDangerous=${true} work=${remove} onClose=${onClose}>
      <p>Its files, mappings and results go for good. What its runs wrote into the CRM stays there.</p>
    <//>
  `
}
