import type {Json} from '../http.ts'
import type {ValueKind} from './completion.ts'
import {clean} from './phrases.ts'
import type {Cli, Session} from './session.ts'

/** The longest wait for the server in ms, because a person waits at the prompt. After this time, nothing is completed. */
const longestMs = 3_000
const most = 200

/**
 * Returns the names that complete a value, sorted. Reads at most 200 imports or templates, and 200 schedules of each template. Returns none
 * without a session or an answer, because a shell cannot show an error here.
 */
export const readValues = async (cli: Cli, kind: ValueKind): Promise<string[]> => {
  try {
    const names = await READERS[kind](await cli.open(), AbortSignal.timeout(longestMs))
    return [...new Set(names.map(clean))].sort()
  } catch {
    return []
  }
}

const namesOf = (list: Json[]): string[] => list.map(({name}) => name)

const READERS: Record<ValueKind, (session: Session, signal: AbortSignal) => Promise<string[]>> = {
  connections: async ({client, path}, signal) => namesOf((await client.get(path('connectors'), {}, signal)).connectors),
  templates: async ({client, path}, signal) => namesOf((await client.get(path('templates'), {limit: most}, signal)).templates),
  imports: async ({client, path}, signal) => namesOf((await client.get(path('imports'), {limit: most}, signal)).imports),
  libraries: async ({client, path}, signal) =>
    (await client.get(path('libraries'), {}, signal)).libraries.map(({namespace}: Json) => namespace),
  modules: async ({client, path}, signal) =>
    (await client.get(path('config/modules'), {}, signal)).modules.map(({apiName}: Json) => apiName),
  schedules: async ({client, path}, signal) => {
    const {templates} = await client.get(path('templates'), {limit: most}, signal)
    const pages = await Promise.all(templates.map(({id}: Json) => client.get(path(`templates/${id}/schedules`), {limit: most}, signal)))
    return pages.flatMap(({schedules}) => namesOf(schedules))
  },
}
