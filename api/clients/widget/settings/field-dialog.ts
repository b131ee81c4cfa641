import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {t} from '../text/settings.ts'
import {Button} from '../ui/button.ts'
import {Dialog} from '../ui/dialog.ts'
import {Check, TextArea, TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import {annotationChange, type ConfiguredField, type ConfiguredModule, isStale, linesOf, patchField} from './registry.ts'

type FieldDialogProps = {module: ConfiguredModule; version: number; field: ConfiguredField; again: () => void; onClose: () => void}

export const FieldDialog = ({module, version, field, again, onClose}: FieldDialogProps) => {
  const {annotation, apiName, label} = field
  const [draft, setDraft] = useState({
    description: annotation?.description ?? '',
    format: annotation?.format ?? '',
    aliases: (annotation?.aliases ?? []).join('\n'),
    examples: (annotation?.examples ?? []).join('\n'),
    pii: annotation?.pii ?? false,
    derived: annotation?.derived ?? false,
    excluded: annotation?.excluded ?? false,
  })
  const set = (change: Partial<typeof draft>) => setDraft({...draft, ...change})
  const save = useDoing(async () => {
    const after = {...draft, aliases: linesOf(draft.aliases), examples: linesOf(draft.examples)}
    const changed = annotationChange(annotation, after)
    if (Object.keys(changed).length) await patchField(module, version, {apiName, changed})
    say(t.saved(label ?? apiName))
    onClose()
    again()
  })
  const reload = () => {
    save.clear()
    again()
  }
  const actions = html`<${Button} onClick=${onClose}>${t.cancel}<//><${Button} kind="main" isBusy=${save.isBusy} onClick=${() => save.run()}>${t.save}<//>`
  return html`
    <${Dialog} title=${label ?? apiName} onClose=${onClose} actions=${actions}>
      <${TextArea} label=${t.description} hint=${t.whatTheFieldIsFor} rows="2" value=${draft.description} onInput=${(description: string) => set({description})} />
      <${TextField} label=${t.format} hint=${t.howValuesAreWritten} value=${draft.format} onInput=${(format: string) => set({format})} />
      <${TextArea} label=${t.aliases} hint=${t.namesOfColumnsThatBelongToThis} value=${draft.aliases} onInput=${(aliases: string) => set({aliases})} />
      <${TextArea} label=${t.examples} hint=${t.sampleValuesOnePerLineTheyNever} value=${draft.examples} onInput=${(examples: string) => set({examples})} />
      <${Check} label=${t.personalData} hint=${t.valuesAreNeverSentToAiUnmasked} checked=${draft.pii} onChange=${(pii: boolean) => set({pii})} />
      <${Check} label=${t.derived} hint=${t.computedFromOtherFieldsSoNoColumn} checked=${draft.derived} onChange=${(derived: boolean) => set({derived})} />
      <${Check} label=${t.hidden} hint=${t.notAvailableInImportsOrSuggestions} checked=${draft.excluded} onChange=${(excluded: boolean) => set({excluded})} />
      <${Problem} error=${save.error} again=${isStale(save.error) ? reload : undefined} />
    <//>
  `
}
