import {html} from '../html.ts'
import {t} from '../text/options.ts'
import {Select} from '../ui/field.ts'
import {strangeWords} from './flows.ts'
import type {ModeProps} from './mapping-modes.ts'
import {entriesOf, withEntries} from './value-entries.ts'
import {ValueMapEditor} from './value-map-fields.ts'

const strangers = [
  {value: 'reject', label: t.failTheRow},
  {value: 'map', label: t.mapItToAnOption},
  {value: 'pass', label: t.sendItToTheCrmUnchanged},
]

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
    <${Select} label=${t.valuesThatAreNotOptions} hint=${open.length > 0 && mode === 'reject' ? t.inTheFileForExample(open.slice(0, 5).join(', ')) : null} value=${mode} options=${strangers} onChange=${choose} />
    ${entries && html`<${ValueMapEditor} ...${props} entries=${entries} />`}
  `
}
