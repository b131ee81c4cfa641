import type {ComponentType} from 'preact'
import {type Area, loadMessages} from './text/language.ts'

export type Params = Record<string, string>
export type PageProps = {params: Params}
type Load = () => Promise<ComponentType<PageProps>>

/**
 * The pages by the path after `#/`. A part with a colon is a parameter. The first matching path wins. `areas`: the messages that the page's
 * modules read. In languages other than English, only these and the common areas are loaded. A test compares the lists with the imports.
 */
const pages: Record<string, {areas: Area[]; load: Load}> = {
  '': {areas: [], load: async () => (await import('./home.ts')).Home},
  runs: {areas: ['runs', 'undo'], load: async () => (await import('./runs/history.ts')).History},
  'imports/:id/run': {
    areas: ['decide', 'files', 'reasons', 'runs', 'undo'],
    load: async () => (await import('./runs/run-page.ts')).RunPage,
  },
  'imports/:id/results': {
    areas: ['decide', 'files', 'reasons', 'runs', 'undo', 'verification'],
    load: async () => (await import('./runs/results.ts')).Results,
  },
  'imports/:id/questions': {
    areas: ['decide', 'files', 'reasons', 'runs', 'undo'],
    load: async () => (await import('./runs/questions.ts')).Questions,
  },
  'imports/:id/runs': {areas: ['files', 'runs', 'undo'], load: async () => (await import('./runs/import-runs.ts')).ImportRuns},
  imports: {areas: ['files', 'runs', 'schedules', 'undo'], load: async () => (await import('./imports/list.ts')).Imports},
  'imports/new': {areas: ['files', 'schedules'], load: async () => (await import('./imports/new.ts')).NewImport},
  'imports/:id/match': {areas: ['files', 'mapping', 'options', 'reading'], load: async () => (await import('./imports/match.ts')).Match},
  'imports/:id/review': {
    areas: ['comparing', 'decide', 'files', 'mapping', 'reading', 'reasons', 'runs', 'sealing', 'undo'],
    load: async () => (await import('./runs/review.ts')).Review,
  },
  'imports/:id/:old': {areas: ['files'], load: async () => (await import('./imports/moved.ts')).MovedStep},
  'imports/:id': {areas: ['files'], load: async () => (await import('./imports/home.ts')).ImportHome},
  connections: {areas: ['schedules'], load: async () => (await import('./connections/list.ts')).Connections},
  templates: {areas: ['schedules'], load: async () => (await import('./templates/list.ts')).Templates},
  'templates/:id': {
    areas: ['comparing', 'contracts', 'reading', 'reasons', 'runs', 'schedules'],
    load: async () => (await import('./templates/template.ts')).TemplatePage,
  },
  'templates/:id/schedules/new': {
    areas: ['comparing', 'schedules'],
    load: async () => (await import('./templates/schedule-new.ts')).NewSchedule,
  },
  'templates/:id/schedules/:schedule': {
    areas: ['comparing', 'contracts', 'runs', 'schedules'],
    load: async () => (await import('./templates/schedule.ts')).SchedulePage,
  },
  'settings/notices': {areas: ['notices', 'settings'], load: async () => (await import('./settings/notices.ts')).Notices},
  settings: {areas: ['settings'], load: async () => (await import('./settings/general.ts')).General},
  'settings/modules': {areas: ['settings'], load: async () => (await import('./settings/modules.ts')).Modules},
  'settings/modules/:connection/:module': {areas: ['settings'], load: async () => (await import('./settings/module.ts')).Module},
  'settings/libraries': {areas: ['settings'], load: async () => (await import('./settings/libraries.ts')).Libraries},
  'settings/libraries/:namespace': {areas: ['settings'], load: async () => (await import('./settings/library.ts')).LibraryPage},
  'settings/members': {areas: ['settings'], load: async () => (await import('./settings/members.ts')).Members},
  'settings/sessions': {areas: ['settings'], load: async () => (await import('./settings/sessions.ts')).Sessions},
  'settings/tokens': {areas: ['settings'], load: async () => (await import('./settings/tokens.ts')).Tokens},
  'settings/changes': {areas: ['changes', 'settings'], load: async () => (await import('./settings/changes.ts')).Changes},
  'settings/plan': {areas: ['plan', 'settings'], load: async () => (await import('./settings/plan.ts')).Plan},
}

export const findPage = (path: string[]): {pattern: string; params: Params; load: Load} | null => {
  for (const [pattern, {areas, load}] of Object.entries(pages)) {
    const params = match(pattern.split('/').filter(Boolean), path)
    if (params) return {pattern, params, load: () => loadMessages(areas).then(load)}
  }
  return null
}

/** The allowed parameters: ids and API names only, because parameters become parts of API paths. */
const names = /^[\w$-]+$/

const match = (parts: string[], path: string[]): Params | null => {
  if (parts.length !== path.length) return null
  const params: Params = {}
  for (const [index, part] of parts.entries()) {
    if (part.startsWith(':') && names.test(path[index]!)) params[part.slice(1)] = path[index]!
    else if (part !== path[index]) return null
  }
  return params
}
