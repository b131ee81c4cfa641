import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {t} from '../text/reading.ts'
import {Check, TextField} from '../ui/field.ts'

type Props = {label: string; hint?: string; columns: string[]; chosen: string[]; onChange: (columns: string[]) => void}
const mostShown = 100

/** A list of checkboxes to choose columns: the chosen ones, and at most 100 others. For more than 20 columns, it has a search. */
export const ColumnsField = ({label, hint, columns, chosen, onChange}: Props) => {
  const [part, setPart] = useState('')
  const fitting = columns.filter(name => name.toLowerCase().includes(part.toLowerCase()))
  const shown = [...new Set([...chosen, ...fitting.slice(0, mostShown)])]
  const isMany = columns.length > 20
  return html`
    <fieldset class="columns-field">
      <legend>${label}</legend>
      ${hint && html`<p class="hint">${hint}</p>`}
      ${isMany && html`<${TextField} label=${t.findAColumn} value=${part} onInput=${setPart} />`}
      <div class="choices">
        ${shown.map(name => html`<${Check} key=${name} label=${name} checked=${chosen.includes(name)} onChange=${(on: boolean) => onChange(on ? [...chosen, name] : chosen.filter(one => one !== name))} />`)}
      </div>
      ${fitting.length > mostShown && html`<p class="hint">${t.moreSearchByName(fitting.length - mostShown)}</p>`}
    </fieldset>
  `
}
