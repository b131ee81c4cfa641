import type {Json} from '../../http.ts'
import {client, inOrg} from '../state/session.ts'
import type {KnownWords} from './complete.ts'

type Functions = Pick<KnownWords, 'helpers' | 'libraries'>

const none: Functions = {helpers: [], libraries: []}
let loaded: {path: string; functions: Promise<Functions>} | null = null

/** Reads the helpers and libraries of the org, once for each org and page load. If the request fails, the editor completes no functions. */
export const readFunctions = (): Promise<Functions> => {
  const path = inOrg()
  if (loaded?.path !== path) loaded = {path, functions: load().catch(() => none)}
  return loaded.functions
}

const load = async (): Promise<Functions> => {
  const [{helpers}, {libraries}] = await Promise.all([
    client.get<Json>(inOrg('/expressions/helpers')),
    client.get<Json>(inOrg('/libraries')),
  ])
  return {helpers, libraries: libraries.map(describeLibrary)}
}

const describeLibrary = ({namespace, manifest}: Json) => ({
  namespace,
  functions: manifest.functions.map(({name, description = '', parameters = []}: Json) => ({
    name,
    call: `${name}(${parameters.map((one: Json) => one.name).join(', ')})`,
    description,
  })),
})
