import {useEffect, useId, useRef} from 'preact/hooks'
import {html, type Markup} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {Button} from './button.ts'
import {Problem} from './notice.ts'

type DialogProps = {title: string; onClose: () => void; children?: Markup; actions?: Markup}

/** The platform's own modal: the focus stays in it, Escape closes it, and what had the focus before has it again. */
export const Dialog = ({title, onClose, children, actions}: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
    return () => dialog.current?.close()
  }, [])
  return html`
    <dialog
      ref=${dialog}
      aria-labelledby=${id}
      onCancel=${(event: Event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <h2 id=${id}>${title}</h2>
      <div class="dialog-content">${children}</div>
      <div class="actions end">${actions ?? html`<${Button} onClick=${onClose}>Close<//>`}</div>
    </dialog>
  `
}

type ConfirmProps = {
  title: string
  children?: Markup
  action: string
  isDangerous?: boolean
  work: () => Promise<unknown>
  onClose: () => void
}

/** Asks before what cannot be taken back, does it, and stays with the reason where it fails. */
export const Confirm = ({title, children, action, isDangerous = false, work, onClose}: ConfirmProps) => {
  const doing = useDoing(async () => {
    await work()
    onClose()
  })
  const actions = html`
    <${Button} onClick=${onClose}>Cancel<//>
    <${Button} kind=${isDangerous ? 'danger' : 'main'} isBusy=${doing.isBusy} onClick=${() => doing.run()}>${action}<//>
  `
  return html`<${Dialog} title=${title} onClose=${onClose} actions=${actions}>${children}<${Problem} error=${doing.error} /><//>`
}
