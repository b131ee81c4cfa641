import type {ComponentType} from 'preact'

export type Params = Record<string, string>
export type PageProps = {params: Params}
type Load = () => Promise<ComponentType<PageProps>>

/** All pages by the path after `#/`. A part with a colon becomes a parameter. The first match is used. */
const pages: Record<string, Load> = {
  '': async () => (await import('./home.ts')).Home,
  runs: async () => (await import('./runs/history.ts')).History,
  'imports/:id/run': async () => (await import('./runs/run-page.ts')).RunPage,
  'imports/:id/results': async () => (await import('./runs/results.ts')).Results,
  'imports/:id/questions': async () => (await import('./runs/questions.ts')).Questions,
  'imports/:id/runs': async () => (await import('./runs/import-runs.ts')).ImportRuns,
  imports: async () => (await import('./imports/list.ts')).Imports,
  'imports/new': async () => (await import('./imports/new.ts')).NewImport,
  'imports/:id/match': async () => (await import('./imports/match.ts')).Match,
  'imports/:id/review': async () => (await import('./runs/review.ts')).Review,
  'imports/:id/:old': async () => (await import('./imports/moved.ts')).MovedStep,
  'imports/:id': async () => (await import('./imports/home.ts')).ImportHome,
  connections: async () => (await import('./connections/list.ts')).Connections,
  templates: async () => (await import('./templates/list.ts')).Templates,
  'templates/:id': async () => (await import('./templates/template.ts')).TemplatePage,
  'templates/:id/schedules/new': async () => (await import('./templates/schedule-new.ts')).NewSchedule,
  'templates/:id/schedules/:schedule': async () => (await import('./templates/schedule.ts')).SchedulePage,
  'settings/notices': async () => (await import('./settings/notices.ts')).Notices,
  settings: async () => (await import('./settings/general.ts')).General,
  'settings/modules': async () => (await import('./settings/modules.ts')).Modules,
  'settings/modules/:connection/:module': async () => (await import('./settings/module.ts')).Module,
  'settings/libraries': async () => (await import('./settings/libraries.ts')).Libraries,
  'settings/libraries/:namespace': async () => (await import('./settings/library.ts')).LibraryPage,
  'settings/members': async () => (await import('./settings/members.ts')).Members,
  'settings/sessions': async () => (await import('./settings/sessions.ts')).Sessions,
  'settings/tokens': async () => (await import('./settings/tokens.ts')).Tokens,
  'settings/changes': async () => (await import('./settings/changes.ts')).Changes,
  'settings/plan': async () => (await import('./settings/plan.ts')).Plan,
}

export const findPage = (path: string[]): {pattern: string; params: Params; load: Load} | null => {
  for (const [pattern, load] of Object.entries(pages)) {
    const params = match(pattern.split('/').filter(Boolean), path)
    if (params) return {pattern, params, load}
  }
  return null
}

/** Parameters become part of API paths, so only ids and API names are accepted. */
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
