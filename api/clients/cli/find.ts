import {ApiError, type Json, readPages} from '../http.ts'
import {notThere, usage} from './failure.ts'
import type {Session} from './session.ts'

type Named = {id: string; name: string}

/** By id, or by a name that is only one's. */
const choose = <T extends Named>(what: string, given: string, all: readonly T[], list: string): T => {
  const byId = all.find(({id}) => id === given)
  if (byId) return byId
  const [found, another] = all.filter(({name}) => name === given)
  if (found && !another) return found
  if (found) throw usage(`Several ${what}s are called ${given}`, `Name it by its id: ${list}`)
  throw notThere(
    `There is no ${what} ${given}`,
    `List those there are: ${list}`,
    what === 'connection' ? 'CONNECTION_NOT_FOUND' : undefined,
  )
}

export const findConnection = async ({client, path}: Session, given: string): Promise<Json> =>
  choose('connection', given, (await client.get(path('connectors'))).connectors, 'lading connections')

/** A template whole, with its slots and flows, and its version. */
export const findTemplate = async (session: Session, given: string): Promise<{template: Json; etag: string}> => {
  const {client, path} = session
  const all = /^tpl_/.test(given) ? [] : await Array.fromAsync(readPages(client, path('templates'), 'templates', {limit: 200}))
  const id = /^tpl_/.test(given) ? given : choose('template', given, all, 'lading templates').id
  const {body, headers} = await client.call('GET', path(`templates/${encodeURIComponent(id)}`)).catch(error => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
    throw notThere(`There is no template ${given}`, 'List those there are: lading templates')
  })
  return {template: body.template, etag: headers.get('etag') ?? '*'}
}

/** A run by its id, or the newest run of an import; `only` says which count. Answered with the import it is of. */
export const findRun = async ({client, path}: Session, given: string, only: (run: Json) => boolean = () => true): Promise<Json> => {
  if (given.startsWith('run_')) return (await client.get(path(`runs/${encodeURIComponent(given)}`))).run
  if (!given.startsWith('imp_'))
    throw usage(`${given} is neither a run nor an import`, 'Ids begin with run_ or imp_: lading runs lists them')
  const {runs} = await client.get(path(`imports/${encodeURIComponent(given)}/runs`), {limit: 200})
  const found = runs.find(only)
  if (!found) throw notThere(`The import ${given} has no such run`, `See what there is: lading runs ${given}`, 'RUN_NOT_FOUND')
  return found
}

/** The run within its import, which has events, questions and files; a run of an outside engine has none. */
export const runPath = ({path}: Session, run: Json): string => {
  if (run.importId) return path(`imports/${run.importId}/runs/${run.id}`)
  throw usage(`${run.id} is of no import: an engine of your own carries it`, `Its log is here: lading logs ${run.id}`)
}
