import {html, type Markup} from '../html.ts'
import {place, to} from '../state/place.ts'
import {isAtLeast, type Role} from '../state/session.ts'
import {Page} from '../ui/page.ts'
import {Tabs} from '../ui/tabs.ts'

const tabs: {key: string; label: string; role?: Role}[] = [
  {key: '', label: 'General'},
  {key: 'modules', label: 'Modules'},
  {key: 'libraries', label: 'Libraries'},
  {key: 'notices', label: 'Notices', role: 'admin'},
  {key: 'members', label: 'Members'},
  {key: 'tokens', label: 'API tokens', role: 'admin'},
  {key: 'sessions', label: 'Your sessions'},
  {key: 'plan', label: 'Plan & usage'},
  {key: 'changes', label: 'Changes'},
]

type FrameProps = {title: string; lead?: Markup; actions?: Markup; children?: Markup; trail?: {label: string; href: string}[]}

/** A settings page, with tabs for the pages that the role may see. */
export const SettingsFrame = ({title, lead, actions, children, trail = []}: FrameProps) => html`
  <${Tabs}
    label="Settings"
    tabs=${tabs
      .filter(({role}) => !role || isAtLeast(role))
      .map(({key, label}) => ({label, href: to('settings', ...(key ? [key] : [])), isHere: (place.value.path[1] ?? '') === key}))}
  />
  <${Page} title=${title} lead=${lead} actions=${actions} trail=${trail}>${children}<//>
`
