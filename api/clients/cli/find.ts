import {ApiError, type Json, readPages, strongETag} from '../http.ts'
import {notThere, usage} from './failure.ts'
import type {CommandSession, Session} from './session.ts'

type NamedItem = {id: string; name: string}

/** Whether a text is an id. The name of an import may begin like one, because it is by default the name of a file. */
export const isId = (prefix: 'imp' | 'run' | 'tpl', given: string): boolean => new RegExp(`^${prefix}_[0-9a-z]{26}$`).test(given)

/** Returns the item with this id or name. Throws if there is none, or if several have the name. */
const choose = <T extends NamedItem>(what: string, given: string, all: readonly T[], list: string): T => {
  const byId = all.find(({id}) => id === given)
  if (byId) return byId
  const [found, another] = all.filter(({name}) => name === given)
  if (found && !another) return found
  if (found) throw usage(`Several ${what}s are named ${given}`, `Use the id: ${list}`)
  throw notThere(
    `${what[0]!.toUpperCase()}${what.slice(1)} not found: ${given}`,
    `List ${what}s with: ${list}`,
    what === 'connection' ? 'CONNECTION_NOT_FOUND' : undefined,
  )
}

export const findConnection = async ({client, path}: Session, given: string): Promise<Json> =>
  choose('connection', given, (await client.get(path('connectors'))).connectors, 'lading connections')

/** Returns a template with its slots and flows, and its version as an ETag. */
export const findTemplate = async (session: Session, given: string): Promise<{template: Json; etag: string}> => {
  const {client, path} = session
  const all = isId('tpl', given) ? [] : await Array.fromAsync(readPages(client, path('templates'), 'templates', {limit: 200}))
  const id = isId('tpl', given) ? given : choose('template', given, all, 'lading templates').id
  const {body, headers} = await client.call('GET', path(`templates/${encodeURIComponent(id)}`)).catch(error => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
    throw notThere(`Template not found: ${given}`, 'List templates with: lading templates')
  })
  return {template: body.template, etag: strongETag(headers) ?? '*'}
}

/**
 * Returns an import id unchanged. For a name, returns the id of the import, and throws if none or several have the name. Archived imports count
 * only if no other import has the name.
 */
export const findImportId = async ({client, path, time}: CommandSession, given: string): Promise<string> => {
  if (isId('imp', given)) return given
  const all: Json[] = []
  for await (const one of readPages(client, path('imports'), 'imports', {archived: 'all', limit: 200}))
    if (one.name === given) all.push(one)
  const listed = all.filter(({archivedAt}) => archivedAt === null)
  const named = listed.length > 0 ? listed : all
  if (named.length === 1) return named[0].id
  if (named.length === 0) throw notThere(`Import not found: ${given}`, 'List imports with: lading imports', 'IMPORT_NOT_FOUND')
  const newest = named.slice(0, mostNamed).map(({id, createdAt}) => `  ${id}  created ${time(createdAt)}`)
  const more = named.length > mostNamed ? [`  and ${named.length - mostNamed} more: lading imports`] : []
  throw usage(`${named.length} imports are named ${given}`, ['Use the id:', ...newest, ...more].join('\n'))
}

const mostNamed = 5

/**
 * Returns the run with the id `given`. If `given` is the id or name of an import, returns the newest run of this import that passes `only`, of
 * at most 200 runs.
 */
export const findRun = async (session: CommandSession, given: string, only: (run: Json) => boolean = () => true): Promise<Json> => {
  const {client, path} = session
  if (isId('run', given)) return (await client.get(path(`runs/${encodeURIComponent(given)}`))).run
  const id = await findImportId(session, given)
  const {runs} = await client.get(path(`imports/${encodeURIComponent(id)}/runs`), {limit: 200})
  const found = runs.find(only)
  if (!found) throw notThere(`The import ${given} has no such run`, `List its runs with: lading runs ${id}`, 'RUN_NOT_FOUND')
  return found
}

/** Returns the command that follows an active run. An external run without an import has no events to watch. */
export const followCommand = ({id, importId}: Json) => (importId ? `lading watch ${id}` : `lading logs ${id} --follow`)

/**
 * Whether an ended undo can itself be undone. True for other runs. An error gives false: the result of the undo is known, so only a hint is missing.
 */
export const isUndoable = async (session: Session, run: Json): Promise<boolean> => {
  if (!run.undoOf || run.dryRun || run.stop) return true
  return session.client.get(`${runPath(session, run)}/undo`).then(
    ({undo}) => undo.available,
    () => false,
  )
}

/** Returns the path of a run within its import. Throws for an external run without an import, which has no events, questions or files. */
export const runPath = ({path}: Session, run: Json): string => {
  if (run.importId) return path(`imports/${run.importId}/runs/${run.id}`)
  throw usage(`${run.id} is an external run without an import`, `Show its log with: lading logs ${run.id}`)
}
