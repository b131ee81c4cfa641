import {useId} from 'preact/hooks'
import {html} from '../html.ts'
import {t} from '../text/settings.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {type FieldChoice, fieldChoices, labelOfField} from './field-choices.ts'
import type {ConfiguredField} from './registry.ts'

type PickerProps = {
  label: string
  hint?: string
  fields: ConfiguredField[]
  chosen: string[]
  fits?: (field: ConfiguredField) => boolean
  set: (chosen: string[]) => void
}

/** Edits a list of chosen fields. A field that the CRM no longer has can only be removed. */
export const FieldPicker = ({label, hint, fields, chosen, fits = () => true, set}: PickerProps) => {
  const id = useId()
  const options = fieldChoices(fields.filter(fits), chosen).map(({apiName, label: name}: FieldChoice) => ({value: apiName, label: name}))
  return html`
    <fieldset class="field-picker" aria-describedby=${hint ? id : undefined}>
      <legend>${label}</legend>
      ${hint && html`<p class="hint" id=${id}>${hint}</p>`}
      <ul class="plain">
        ${chosen.map(
          name =>
            html`<li key=${name} class="row"><span class="grow">${labelOfField(fields, name)}</span><${Button} kind="quiet" onClick=${() => set(chosen.filter(one => one !== name))}>${t.remove}<span class="unseen"> ${labelOfField(fields, name)}</span><//></li>`,
        )}
      </ul>
      ${chosen.length === 0 && html`<p class="quiet">${t.none}</p>`}
      <${Select} label=${t.addTo(label)} isHidden value="" options=${[{value: '', label: t.addAField}, ...options]} onChange=${(name: string) => name && set([...chosen, name])} />
    </fieldset>
  `
}
