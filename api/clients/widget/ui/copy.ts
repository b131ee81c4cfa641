import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {t} from '../text/shell.ts'
import {Button} from './button.ts'
import {say} from './notice.ts'

export const Copy = ({text, label}: {text: string; label: string}) => {
  const [isDone, setDone] = useState(false)
  const copy = async () => {
    // The clipboard is unavailable without TLS or without permission.
    const isTaken = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    if (!isTaken) return say(t.copyingBlocked)
    setDone(true)
    say(t.labelCopied(label))
  }
  return html`<span class="copy"><code tabindex="0">${text}</code> <${Button} onClick=${copy} label=${t.copyLabel(label)}>${isDone ? t.copied : t.copy}<//></span>`
}
