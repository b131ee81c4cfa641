import {html} from '../html.ts'
import {t} from '../text/decide.ts'
import {Select} from '../ui/field.ts'

export type VerifyMode = 'off' | 'sample' | 'all'
type Props = {mode: VerifyMode; onChange: (mode: VerifyMode) => void}

/** Lets the user choose which written rows the run reads back. Starts closed while the mode is `off`, the usual choice. */
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
