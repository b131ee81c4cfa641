import {useId, useRef} from 'preact/hooks'
import {html, type Markup} from '../html.ts'

type MenuProps = {label: string; onOpen?: () => void; children?: Markup}

const gap = 4

/** A button that opens a small list of actions. Escape, a click elsewhere or an action closes the list. */
export const Menu = ({label, onOpen, children}: MenuProps) => {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const open = ({newState}: ToggleEvent) => {
    if (newState !== 'open') return
    const {top, bottom, right} = button.current!.getBoundingClientRect()
    const isLow = bottom > innerHeight / 2
    Object.assign(list.current!.style, {
      right: `${Math.max(gap, document.documentElement.clientWidth - right)}px`,
      ...(isLow ? {top: 'auto', bottom: `${innerHeight - top + gap}px`} : {top: `${bottom + gap}px`, bottom: 'auto'}),
    })
    onOpen?.()
  }
  return html`
    <button ref=${button} type="button" class="button quiet menu-button" aria-label=${label} popovertarget=${id}>⋯</button>
    <div ref=${list} id=${id} popover="auto" class="menu-list" onBeforeToggle=${open} onClick=${() => list.current?.hidePopover()}>${children}</div>
  `
}
