import {to} from '../state/place.ts'
import {may, type Role, signOut} from '../state/session.ts'
import {applyTheme} from '../state/theme.ts'
import {t} from '../text/shell.ts'
import type {MenuCommand} from './find-commands.ts'

type PageCommand = {label: string; path: string[]; also?: string; role?: Role; kind?: string}

const pages: PageCommand[] = [
  {label: t.newImport, path: ['imports', 'new'], also: t.alsoNewImport, role: 'operator', kind: t.kindAction},
  {label: t.imports, path: ['imports']},
  {label: t.runs, path: ['runs'], also: t.alsoRuns},
  {label: t.templates, path: ['templates'], also: t.alsoTemplates},
  {label: t.connections, path: ['connections'], also: t.alsoConnections},
  {label: t.settings, path: ['settings'], also: t.alsoSettings},
  {label: t.modules, path: ['settings', 'modules'], also: t.alsoModules},
  {label: t.libraries, path: ['settings', 'libraries'], also: t.alsoLibraries},
  {label: t.notices, path: ['settings', 'notices'], also: t.alsoNotices, role: 'admin'},
  {label: t.members, path: ['settings', 'members'], also: t.alsoMembers},
  {label: t.apiTokens, path: ['settings', 'tokens'], also: t.alsoTokens, role: 'admin'},
  {label: t.yourSessions, path: ['settings', 'sessions'], also: t.alsoSessions},
  {label: t.planUsage, path: ['settings', 'plan'], also: t.alsoPlan},
  {label: t.changes, path: ['settings', 'changes'], also: t.alsoChanges},
]

export const pageCommands = (): MenuCommand[] => [
  ...pages
    .filter(({role}) => !role || may(role))
    .map(({label, path, also, kind = t.kindPage}) => ({
      id: path.join('/'),
      label,
      kind,
      href: to(...path),
      leaves: true,
      ...(also && {also}),
    })),
  {id: 'light', label: t.useTheLightTheme, kind: t.kindAction, also: t.alsoTheme, run: () => applyTheme('light')},
  {id: 'dark', label: t.useTheDarkTheme, kind: t.kindAction, also: t.alsoTheme, run: () => applyTheme('dark')},
  {id: 'system', label: t.useTheThemeOfTheSystem, kind: t.kindAction, also: t.alsoTheme, run: () => applyTheme('system')},
  {id: 'reference', label: t.apiReference, kind: t.kindPage, href: '/reference'},
  {id: 'sign-out', label: t.signOut, kind: t.kindAction, also: t.alsoSignOut, leaves: true, run: signOut},
]
