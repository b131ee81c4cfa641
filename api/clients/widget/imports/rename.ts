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

/** A dialog to rename the import. Saving fails if the import has changed since it was loaded. */
export const RenameImport = ({found, onClose, onDone}: Props) => {
  const [name, setName] = useState(found.name)
  const save = useDoing(async () => {
    await client.patch(inOrg(`/imports/${found.id}`), {name: name.trim()}, {'if-match': `"${found.version}"`})
    await onDone()
    say(`Renamed to ${name.trim()}`)
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
    <${Dialog} title="Rename import" onClose=${onClose} actions=${actions}>
      <form onSubmit=${submit}><${TextField} label="Name" maxlength="200" value=${name} onInput=${setName} /></form>
      <${Problem} error=${save.error} />
    <//>
  `
}

export const DeleteImport = ({found, onClose, onDone}: Props) => {
  const remove = async () => {
    await client.delete(inOrg(`/imports/${found.id}`))
    await onDone()
    say(`Deleted ${found.name}`)
  }
  return html`
    <${Confirm} title=${`Delete ${found.name}?`} action="Delete" isDangerous=${true} work=${remove} onClose=${onClose}>
      <p>Its files, mappings and results are deleted permanently. Records written to the CRM stay there.</p>
    <//>
  `
}
