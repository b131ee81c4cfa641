import {html} from '../html.ts'
import {t} from '../text/decide.ts'
import {Select} from '../ui/field.ts'

export type VerifyMode = 'off' | 'sample' | 'all'
type Props = {mode: VerifyMode; onChange: (mode: VerifyMode) => void}

/** Chooses which written rows a run reads back. Stays closed until it is needed, because most runs read none back. */
export const VerifyChoice = ({mode, onChange}: Props) => html`
  <details open=${mode !== 'off'}>
    <summary>${t.compareWithTheCrm}</summary>
    <div class="opened">
      <${Select}
        label=${t.rowsToCompare}
        hint=${t.comparesWhatTheCrmStored}
        value=${mode}
        options=${(['off', 'sample', 'all'] as const).map(value => ({value, label: t.verifyModes[value]}))}
        onChange=${onChange}
      />
    </div>
  </details>
`
