import {to} from '../state/place.ts'
import {may, type Role, signOut} from '../state/session.ts'
import {applyTheme} from '../state/theme.ts'
import type {MenuCommand} from './find-commands.ts'

type PageCommand = {label: string; path: string[]; also?: string; role?: Role; kind?: string}

const pages: PageCommand[] = [
  {label: 'New import', path: ['imports', 'new'], also: 'create upload file', role: 'operator', kind: 'Action'},
  {label: 'Imports', path: ['imports']},
  {label: 'Runs', path: ['runs'], also: 'history'},
  {label: 'Templates', path: ['templates'], also: 'schedules'},
  {label: 'Connections', path: ['connections'], also: 'crm connect quota discovery'},
  {label: 'Settings', path: ['settings'], also: 'general date format time zone'},
  {label: 'Modules', path: ['settings', 'modules'], also: 'settings match fields'},
  {label: 'Libraries', path: ['settings', 'libraries'], also: 'settings helpers functions'},
  {label: 'Notices', path: ['settings', 'notices'], also: 'settings e-mail webhooks', role: 'admin'},
  {label: 'Members', path: ['settings', 'members'], also: 'settings invite people roles'},
  {label: 'API tokens', path: ['settings', 'tokens'], also: 'settings programs', role: 'admin'},
  {label: 'Your sessions', path: ['settings', 'sessions'], also: 'settings devices'},
  {label: 'Plan & usage', path: ['settings', 'plan'], also: 'settings billing price invoices credits'},
  {label: 'Changes', path: ['settings', 'changes'], also: 'settings history audit'},
]

/** The pages that the person may open, and actions that work on every page. */
export const pageCommands = (): MenuCommand[] => [
  ...pages
    .filter(({role}) => !role || may(role))
    .map(({label, path, also, kind = 'Page'}) => ({id: path.join('/'), label, kind, href: to(...path), ...(also && {also})})),
  {id: 'light', label: 'Use the light theme', kind: 'Action', also: 'appearance', run: () => applyTheme('light')},
  {id: 'dark', label: 'Use the dark theme', kind: 'Action', also: 'appearance', run: () => applyTheme('dark')},
  {id: 'system', label: 'Use the theme of the system', kind: 'Action', also: 'appearance', run: () => applyTheme('system')},
  {id: 'reference', label: 'API reference', kind: 'Page', href: '/reference'},
  {id: 'sign-out', label: 'Sign out', kind: 'Action', also: 'log out', run: signOut},
]
