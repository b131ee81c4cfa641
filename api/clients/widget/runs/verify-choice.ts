import {html} from '../html.ts'
import {t} from '../text/comparing.ts'
import {Select} from '../ui/field.ts'

export type VerifyMode = 'off' | 'sample' | 'all'
/** `inherited`: the setting of the template applies. */
export type VerifyDraft = VerifyMode | 'inherited'
type Props = {mode: VerifyDraft; canInherit: boolean; onChange: (mode: VerifyDraft) => void}

/** A select field for which of the written rows a run reads back. `canInherit`: whether the template's setting can be chosen. */
export const VerifySelect = ({mode, canInherit, onChange}: Props) => {
  const modes = [...(canInherit ? (['inherited'] as const) : []), 'off', 'sample', 'all'] as const
  return html`
    <${Select}
      label=${t.rowsToCompare}
      hint=${t.comparesWhatTheCrmStored}
      value=${mode}
      options=${modes.map(value => ({value, label: t.verifyModes[value]}))}
      onChange=${onChange}
    />
  `
}

export const VerifyChoice = (props: Props) => html`
  <details open=${props.mode !== (props.canInherit ? 'inherited' : 'off')}>
    <summary>${t.compareWithTheCrm}</summary>
    <div class="opened"><${VerifySelect} ...${props} /></div>
  </details>
`
