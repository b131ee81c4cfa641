import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/contracts.ts'
import {t as shell} from '../text/shell.ts'
import {Button} from '../ui/button.ts'
import {useDraft} from '../ui/draft.ts'
import {Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {columnsOf, contractIn, draftOf, fromFields, type SourceContract, type SourceDraft, toFields} from './contract-draft.ts'
import {SourceFields} from './contract-fields.ts'
import {codeOf} from './frequency-advice.ts'
import type {Template} from './template.ts'

type StoredContract = {sources: SourceContract[]; version: number}

export const ContractSection = ({template}: {template: Template}) => {
  const address = inOrg(`/templates/${template.id}/contract`)
  const loaded = useLoad<StoredContract>(async signal => (await client.get<Json>(address, {}, signal)).contract, [address])
  return html`
    <h2>${t.dataContract}</h2>
    <p class="quiet">${t.whatEachFileMustMeet}</p>
    <${Shown} of=${loaded}>
      ${(contract: StoredContract) => html`<${Editor} template=${template} contract=${contract} again=${loaded.again} />`}
    <//>
  `
}

type EditorProps = {template: Template; contract: StoredContract; again: () => void}

const Editor = ({template, contract, again}: EditorProps) => {
  const {sources: slots, mayEdit} = template
  const form = useDraft(toFields(draftOf(slots, contract.sources)))
  const drafts = fromFields(form.draft)
  const [learnt, setLearnt] = useState<string | null>(null)
  const address = inOrg(`/templates/${template.id}/contract`)
  const learn = useDoing(async () => {
    const {contract: proposed, files} = await client.get<Json>(`${address}/proposal`)
    const accepted = Math.max(0, ...files.map((file: {accepted: number}) => file.accepted))
    setLearnt(accepted === 0 ? t.noFileWasAccepted : t.learntFrom(accepted))
    if (accepted > 0) form.set(toFields(draftOf(columnsOf(drafts), proposed.sources)))
  })
  const save = useDoing(async () => {
    await client.put(address, {sources: contractIn(drafts)}, {'if-match': `"${contract.version}"`})
    form.keepSaved(form.draft)
    say(t.saved)
    again()
  })
  const reload = () => {
    save.clear()
    again()
  }
  return html`
    ${drafts.map(
      draft =>
        html`<${SourceFields} key=${draft.slot} label=${slots.find(({slot}) => slot === draft.slot)?.label ?? draft.slot} draft=${draft} isFixed=${!mayEdit} set=${(changed: SourceDraft) => form.set(toFields([changed]))} />`,
    )}
    ${
      mayEdit &&
      html`<div class="actions">
        <${Button} isBusy=${save.isBusy} onClick=${() => save.run()}>${t.save}<//>
        <${Button} isBusy=${learn.isBusy} disabled=${form.isDirty} onClick=${() => learn.run()}>${t.learn}<//>
        <${Button} kind="quiet" disabled=${save.isBusy} onClick=${form.reset}>${t.discardChanges}<//>
      </div>`
    }
    <p role="status">${learnt}</p>
    ${form.isDirty && html`<p class="quiet" role="status">${shell.unsavedChanges}</p>`}
    <${Problem} error=${save.error ?? learn.error} again=${codeOf(save.error) === 'CONTRACT_CONFLICT' ? reload : undefined} />
  `
}
