import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/contracts.ts'
import {Button} from '../ui/button.ts'
import {Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {contractIn, draftOf, type SourceContract, type SourceDraft} from './contract-draft.ts'
import {SourceFields} from './contract-fields.ts'
import type {Template} from './template.ts'

type StoredContract = {sources: SourceContract[]; version: number}

export const ContractSection = ({template}: {template: Template}) => {
  const address = inOrg(`/templates/${template.id}/contract`)
  const loaded = useLoad<StoredContract>(async signal => (await client.get<Json>(address, {}, signal)).contract, [address])
  return html`
    <h2>${t.dataContract}</h2>
    <p class="quiet">${t.whatEachFileMustMeet}</p>
    <${Shown} of=${loaded}>
      ${(contract: StoredContract) => html`<${Editor} key=${contract.version} template=${template} contract=${contract} again=${loaded.again} />`}
    <//>
  `
}

type EditorProps = {template: Template; contract: StoredContract; again: () => void}

const Editor = ({template, contract, again}: EditorProps) => {
  const {sources: slots, mayEdit} = template
  const [drafts, setDrafts] = useState<SourceDraft[]>(() => draftOf(slots, contract.sources))
  const [learnt, setLearnt] = useState<string | null>(null)
  const address = inOrg(`/templates/${template.id}/contract`)
  const change = (draft: SourceDraft) => setDrafts(all => all.map(one => (one.slot === draft.slot ? draft : one)))
  const learn = useDoing(async () => {
    const {contract: proposed, files} = await client.get<Json>(`${address}/proposal`)
    const accepted = Math.max(0, ...files.map((file: {accepted: number}) => file.accepted))
    setLearnt(accepted === 0 ? t.noFileWasAccepted : t.learntFrom(accepted))
    if (accepted > 0) setDrafts(draftOf(slots, proposed.sources))
  })
  const save = useDoing(async () => {
    await client.put(address, {sources: contractIn(drafts)}, {'if-match': `"${contract.version}"`})
    say(t.saved)
    again()
  })
  return html`
    ${drafts.map(
      draft =>
        html`<${SourceFields} key=${draft.slot} label=${slots.find(({slot}) => slot === draft.slot)?.label ?? draft.slot} draft=${draft} isFixed=${!mayEdit} set=${change} />`,
    )}
    ${
      mayEdit &&
      html`<div class="actions">
        <${Button} isBusy=${save.isBusy} onClick=${() => save.run()}>${t.save}<//>
        <${Button} isBusy=${learn.isBusy} onClick=${() => learn.run()}>${t.learn}<//>
        <${Button} kind="quiet" onClick=${() => setDrafts(draftOf(slots, contract.sources))}>${t.discardChanges}<//>
      </div>`
    }
    <p role="status">${learnt}</p>
    <${Problem} error=${save.error ?? learn.error} />
  `
}
