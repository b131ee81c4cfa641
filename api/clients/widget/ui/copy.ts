import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {Button} from './button.ts'
import {say} from './notice.ts'

/** A text to take along, with a button that copies it. */
export const Copy = ({text, label}: {text: string; label: string}) => {
  const [isDone, setDone] = useState(false)
  const copy = async () => {
    // Not given to a page that came without TLS, nor where the person has said no.
    const isTaken = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    if (!isTaken) return say('Your browser does not let it be copied: select it, and copy it by hand')
    setDone(true)
    say(`${label} copied`)
  }
  return html`<span class="copy"><code tabindex="0">${text}</code> <${Button} onClick=${copy} label=${`Copy ${label}`}>${isDone ? 'Copied' : 'Copy'}<//></span>`
}
