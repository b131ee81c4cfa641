import {useEffect, useId, useRef} from 'preact/hooks'
import {html, type Markup} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {t} from '../text/shell.ts'
import {Button} from './button.ts'
import {Problem} from './notice.ts'

type DialogProps = {title: string; onClose: () => void; children?: Markup; actions?: Markup}

/** A native modal dialog. The focus stays inside. When the dialog closes, the element that had the focus before gets it back. */
export const Dialog = ({title, onClose, children, actions}: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      // Browsers restore the focus only when `close()` is called. This dialog is removed without that call, so the code restores the focus.
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
      <div class="actions end">${actions ?? html`<${Button} onClick=${onClose}>${t.close}<//>`}</div>
    </dialog>
  `
}

type ConfirmProps = {
  title: string
  children?: Markup
  action: string
  /** The label of the button that changes nothing. "Cancel" is ambiguous if the action itself is a cancellation. */
  back?: string
  isDangerous?: boolean
  /** Replaces the usual display of the error, to give more advice. */
  problem?: (error: unknown) => Markup
  work: () => Promise<unknown>
  onClose: () => void
}

export const Confirm = ({title, children, action, back = t.cancel, isDangerous = false, problem, work, onClose}: ConfirmProps) => {
  const doing = useDoing(async () => {
    await work()
    onClose()
  })
  const actions = html`
    <${Button} onClick=${onClose}>${back}<//>
    <${Button} kind=${isDangerous ? 'danger' : 'main'} isBusy=${doing.isBusy} onClick=${() => doing.run()}>${action}<//>
  `
  return html`<${Dialog} title=${title} onClose=${onClose} actions=${actions}>${children}${problem ? problem(doing.error) : html`<${Problem} error=${doing.error} />`}<//>`
}
