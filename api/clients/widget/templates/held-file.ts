import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {client, may} from '../state/session.ts'
import {t} from '../text/contracts.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {Check} from '../ui/field.ts'
import {at} from '../ui/format.ts'
import {Notice, say} from '../ui/notice.ts'
import {describeBreach} from './breach-text.ts'
import type {Firing, HeldContract} from './schedules.ts'

type HeldProps = {address: string; firing: Firing & {contract: HeldContract}; again: () => void}

export const HeldFile = ({address, firing, again}: HeldProps) => {
  const [asked, setAsked] = useState<'accept' | 'discard' | null>(null)
  const {breaches, total} = firing.contract
  const of = `${address}/firings/${firing.id}`
  const close = () => setAsked(null)
  const discard = async () => {
    await client.post(`${of}/discard`)
    say(t.discarded)
    again()
  }
  return html`
    <${Notice} kind="warning" title=${t.theFileWaits}>
      <p>${t.theFileDoesNotMeet(at(firing.dueAt))}</p>
      <ul>
        ${breaches.map(breach => html`<li>${breach.label}. ${describeBreach(breach)}</li>`)}
        ${total > breaches.length && html`<li>${t.andMore(total - breaches.length)}</li>`}
      </ul>
      ${
        may('builder') &&
        html`<div class="actions">
          <${Button} kind="main" onClick=${() => setAsked('accept')}>${t.acceptAndRun}<//>
          <${Button} kind="danger" onClick=${() => setAsked('discard')}>${t.discardFile}<//>
          ${firing.importId && html`<a href=${to('imports', firing.importId)}>${t.openImport}</a>`}
        </div>`
      }
    <//>
    ${asked === 'accept' && html`<${Accept} address=${of} again=${again} close=${close} />`}
    ${
      asked === 'discard' &&
      html`<${Confirm} title=${t.discardTitle} action=${t.discardFile} isDangerous onClose=${close} work=${discard}>${t.itIsDeleted}<//>`
    }
  `
}

const Accept = ({address, again, close}: {address: string; again: () => void; close: () => void}) => {
  const [adapt, setAdapt] = useState(false)
  const accept = async () => {
    await client.post(`${address}/accept`, {adapt})
    say(t.accepted)
    again()
  }
  return html`
    <${Confirm} title=${t.acceptTitle} action=${t.acceptAndRun} onClose=${close} work=${accept}>
      <p>${t.itIsRunOnce}</p>
      <${Check} label=${t.adapt} hint=${t.valuesStay} checked=${adapt} onChange=${setAdapt} />
    <//>
  `
}
