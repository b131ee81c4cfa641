import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Button} from '../ui/button.ts'
import {Confirm, Dialog} from '../ui/dialog.ts'
import {TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import type {Imported} from './import.ts'

type Props = {found: Pick<Imported, 'id' | 'name'>; onClose: () => void; onDone: () => unknown}

export const RenameImport = ({found, onClose, onDone}: Props) => {
  const [name, setName] = useState(found.name)
  const save = useDoing(async () => {
    await client.patch(inOrg(`/imports/${found.id}`), {name: name.trim()})
    await onDone()
    say(t.renamedTo(name.trim()))
    onClose()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    if (name.trim()) save.run()
  }
  const actions = html`
    <${Button} onClick=${onClose}>${t.cancel}<//>
    <${Button} kind="main" isBusy=${save.isBusy} disabled=${!name.trim()} onClick=${() => save.run()}>${t.rename}<//>
  `
  return html`
    <${Dialog} title=${t.renameImport} onClose=${onClose} actions=${actions}>
      <form onSubmit=${submit}><${TextField} label=${t.name} maxlength="200" value=${name} onInput=${setName} /></form>
      <${Problem} error=${save.error} />
    <//>
  `
}

export const DeleteImport = ({found, onClose, onDone}: Props) => {
  const remove = async () => {
    await client.delete(inOrg(`/imports/${found.id}`))
    await onDone()
    say(t.deleted(found.name))
  }
  return html`
    <${Confirm} title=${t.deleteQuestion(found.name)} action=${t.deleteWord} isDangerous=${true} work=${remove} onClose=${onClose}>
      <p>${t.itsFilesMappingsAndResultsAre}</p>
    <//>
  `
}
