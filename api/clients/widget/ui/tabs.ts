import {useEffect, useRef} from 'preact/hooks'
import {html, type Markup} from '../html.ts'

type Tab = {href: string; label: Markup; isHere: boolean}

/** A row of tabs. The tabs are links, because each tab has a separate URL. */
export const Tabs = ({label, tabs, class: shape = 'tabs'}: {label: string; tabs: Tab[]; class?: string}) => {
  const list = useRef<HTMLUListElement>(null)
  const here = tabs.findIndex(({isHere}) => isHere)
  useEffect(() => {
    const link = list.current?.querySelector<HTMLElement>('[aria-current]')
    // On a phone, scrolls the list to the current tab without scrolling the page.
    if (link) list.current!.scrollLeft = link.offsetLeft - (list.current!.clientWidth - link.clientWidth) / 2
  }, [here])
  return html`
  <nav class=${shape} aria-label=${label}>
    <ul ref=${list}>${tabs.map(({href, label: text, isHere}) => html`<li><a href=${href} aria-current=${isHere ? 'page' : undefined}>${text}</a></li>`)}</ul>
  </nav>
`
}
