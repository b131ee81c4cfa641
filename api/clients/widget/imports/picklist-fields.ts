import {html} from '../html.ts'
import {Select} from '../ui/field.ts'
import {strangeWords} from './flows.ts'
import type {ModeProps} from './mapping-modes.ts'
import {entriesOf, withEntries} from './value-entries.ts'
import {ValueMapEditor} from './value-map-fields.ts'

const strangers = [
  {value: 'reject', label: 'fail the row'},
  {value: 'map', label: 'map it to an option'},
  {value: 'pass', label: 'send it to the CRM unchanged'},
]

/** The options for values that the picklist does not have. */
export const PicklistFields = (props: ModeProps) => {
  const {mapping, field, sample, seen, change} = props
  const entries = entriesOf(mapping)
  const mode = entries ? 'map' : (mapping.picklist ?? 'reject')
  const at = mapping.source ? sample.columns.indexOf(mapping.source) : -1
  const cells = [...seen, ...(at < 0 ? [] : sample.rows.map(row => row[at] ?? ''))]
  const open = mapping.transform ? [] : strangeWords(cells, field)
  const choose = (value: string) =>
    change(
      value === 'map'
        ? {...withEntries(mapping, []), picklist: null}
        : {...withEntries(mapping, null), picklist: value as 'reject' | 'pass'},
    )
  return html`
    <${Select} label="Values that are not options" hint=${open.length > 0 && mode === 'reject' ? `In the file, for example: ${open.slice(0, 5).join(', ')}` : null} value=${mode} options=${strangers} onChange=${choose} />
    ${entries && html`<${ValueMapEditor} ...${props} entries=${entries} />`}
  `
}
