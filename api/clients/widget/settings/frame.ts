import {html, type Markup} from '../html.ts'
import {place, to} from '../state/place.ts'
import {isAtLeast, type Role} from '../state/session.ts'
import {t} from '../text/settings.ts'
import {Page} from '../ui/page.ts'
import {Tabs} from '../ui/tabs.ts'

const tabs: {key: string; label: string; role?: Role}[] = [
  {key: '', label: t.general},
  {key: 'modules', label: t.modules},
  {key: 'libraries', label: t.libraries},
  {key: 'notices', label: t.notices, role: 'admin'},
  {key: 'members', label: t.members},
  {key: 'tokens', label: t.apiTokens, role: 'admin'},
  {key: 'sessions', label: t.yourSessions},
  {key: 'plan', label: t.planUsage},
  {key: 'changes', label: t.changes},
]

type FrameProps = {title: string; lead?: Markup; actions?: Markup; children?: Markup; trail?: {label: string; href: string}[]}

export const SettingsFrame = ({title, lead, actions, children, trail = []}: FrameProps) => html`
  <${Tabs}
    label=${t.settings}
    tabs=${tabs
      .filter(({role}) => !role || isAtLeast(role))
      .map(({key, label}) => ({label, href: to('settings', ...(key ? [key] : [])), isHere: (place.value.path[1] ?? '') === key}))}
  />
  <${Page} title=${title} lead=${lead} actions=${actions} trail=${trail}>${children}<//>
`
