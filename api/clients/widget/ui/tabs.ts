import {html, type Markup} from '../html.ts'

type Tab = {href: string; label: Markup; isHere: boolean}

/** Links, since each tab is a place with an address of its own. */
export const Tabs = ({label, tabs}: {label: string; tabs: Tab[]}) => html`
  <nav class="tabs" aria-label=${label}>
    <ul>${tabs.map(({href, label: text, isHere}) => html`<li><a href=${href} aria-current=${isHere ? 'page' : undefined}>${text}</a></li>`)}</ul>
  </nav>
`
