import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {dataCentreOptions, rememberDataCentre, usualDataCentre} from '../sign-in.ts'
import {useDoing} from '../state/load.ts'
import {askForConnection} from '../state/pop-up.ts'
import {me} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Button} from '../ui/button.ts'
import {Select, TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import {startDiscovery} from './discovery.ts'

type ConnectProps = {isFirst: boolean; again: (id: string) => void}

/** A form that connects a CRM account on the CRM's consent page, and then starts a discovery. */
export const Connect = ({isFirst, again}: ConnectProps) => {
  const [name, setName] = useState(isFirst ? 'CRM' : '')
  const [dc, setDc] = useState(usualDataCentre())
  const doing = useDoing(async () => {
    rememberDataCentre(dc)
    const id = await askForConnection(me.value!.org!.id, {dc, name})
    say(t.isConnectedReadingItsModulesAnd(name))
    await startDiscovery(id).finally(() => again(id))
  })
  const submit = (event: Event) => {
    event.preventDefault()
    doing.run()
  }
  return html`
    <form class="sheet settings-form" onSubmit=${submit}>
      <h2>${isFirst ? t.connectYourCrm : t.connectAnotherCrmAccount}</h2>
      <${TextField} label=${t.name} hint=${t.shownToMembersOfYourOrganisation} required maxlength="100" value=${name} onInput=${setName} />
      <${Select} label=${t.regionOfYourCrm} hint=${t.theEndingOfYourCrmsWebAddress} value=${dc} options=${dataCentreOptions} onChange=${setDc} />
      <${Problem} error=${doing.error} />
      <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${doing.isBusy ? t.continueInTheOtherWindow : t.connect}<//>
    </form>
  `
}
