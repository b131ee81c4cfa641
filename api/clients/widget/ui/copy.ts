import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {Button} from './button.ts'
import {say} from './notice.ts'

/** A text with a copy button. */
export const Copy = ({text, label}: {text: string; label: string}) => {
  const [isDone, setDone] = useState(false)
  const copy = async () => {
    // The clipboard is unavailable without TLS or without permission.
    const isTaken = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    if (!isTaken) return say('The browser blocked copying. Select the text and copy it manually')
    setDone(true)
    say(`${label} copied`)
  }
  return html`<span class="copy"><code tabindex="0">${text}</code> <${Button} onClick=${copy} label=${`Copy ${label}`}>${isDone ? 'Copied' : 'Copy'}<//></span>`
}
