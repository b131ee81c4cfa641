import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {dataCentreOptions, rememberDataCentre, usualDataCentre} from '../sign-in.ts'
import {useDoing} from '../state/load.ts'
import {askForConnection} from '../state/pop-up.ts'
import {me} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Select, TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import {startDiscovery} from './discovery.ts'

type ConnectProps = {isFirst: boolean; again: (id: string) => void}

/** Connects a CRM account on its consent page, then starts a discovery. */
export const Connect = ({isFirst, again}: ConnectProps) => {
  const [name, setName] = useState(isFirst ? 'CRM' : '')
  const [dc, setDc] = useState(usualDataCentre())
  const doing = useDoing(async () => {
    rememberDataCentre(dc)
    const id = await askForConnection(me.value!.org!.id, {dc, name})
    say(`${name} is connected. Reading its modules and fields …`)
    await startDiscovery(id).finally(() => again(id))
  })
  const submit = (event: Event) => {
    event.preventDefault()
    doing.run()
  }
  return html`
    <form class="sheet settings-form" onSubmit=${submit}>
      <h2>${isFirst ? 'Connect your CRM' : 'Connect another CRM account'}</h2>
      <${TextField} label="Name" hint="Shown to members of your organisation" required maxlength="100" value=${name} onInput=${setName} />
      <${Select} label="Region of your CRM" hint="The ending of your CRM’s web address" value=${dc} options=${dataCentreOptions} onChange=${setDc} />
      <${Problem} error=${doing.error} />
      <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${doing.isBusy ? 'Continue in the other window …' : 'Connect'}<//>
    </form>
  `
}
