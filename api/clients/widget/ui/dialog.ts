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
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      // By now it is gone from the page, and a browser gives the focus back only where it is closed while it is there.
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
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
  /** What leaves things as they are; where the question is about cancelling, "Cancel" would say either. */
  back?: string
  isDangerous?: boolean
  /** Told in place of the failure itself, where more is to be said of it. */
  problem?: Markup
  work: () => Promise<unknown>
  onClose: () => void
}

/** Asks before what cannot be taken back, does it, and stays with the reason where it fails. */
export const Confirm = ({title, children, action, back = 'Cancel', isDangerous = false, problem, work, onClose}: ConfirmProps) => {
  const doing = useDoing(async () => {
    await work()
    onClose()
  })
  const actions = html`
    <${Button} onClick=${onClose}>${back}<//>
    <${Button} kind=${isDangerous ? 'danger' : 'main'} isBusy=${doing.isBusy} onClick=${() => doing.run()}>${action}<//>
  `
  return html`<${Dialog} title=${title} onClose=${onClose} actions=${actions}>${children}${problem ?? html`<${Problem} error=${doing.error} />`}<//>`
}
