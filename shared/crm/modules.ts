import {setTimeout as sleep} from 'node:timers/promises'
import type {ReadOptions} from './crm.ts'
import type {DiscoveredModule} from './discovered.ts'
import {CrmError} from './error.ts'
import {inLanes} from './lanes.ts'
import {describeModules, type Json, listModules} from './metadata.ts'
import {listOf, type Reach} from './reach.ts'

const modulesAtOnce = 4
const tries = 4
const longestWaitMs = 10_000

/**
 * Every module the API supports whose rows people write or look up, with its fields: default and custom ones and subforms. A
 * module whose fields the connection's user may not read is left out. Each read that may succeed later is asked up to four times.
 */
export const readModules = async (
  reach: Reach,
  {signal, onProgress}: ReadOptions & {onProgress?(done: number, total: number): Promise<void>} = {},
): Promise<DiscoveredModule[]> => {
  const ask: Ask = (resource, query = {}) => readPatiently(reach, {resource, query, signal})
  const modules = listModules(await ask('modules'))
  let done = 0
  // One after the other: two reports at once might arrive in either order.
  let reported: Promise<unknown> = Promise.resolve()
  const read = await inLanes(modules, modulesAtOnce, async ({json, apiName, isSubform}) => {
    const fields = await unlessRefused(() => ask('fields', {module: apiName}))
    const layouts = fields && !isSubform ? await unlessRefused(() => ask('layouts', {module: apiName})) : null
    await (reported = reported.then(() => onProgress?.(++done, modules.length)))
    return fields && {json, fields, layouts: layouts ?? []}
  })
  return describeModules(read.filter(module => module !== null))
}

type Ask = (resource: 'modules' | 'fields' | 'layouts', query?: Record<string, string>) => Promise<Json[]>

const readPatiently = async (
  reach: Reach,
  {resource, query, signal}: {resource: string; query: Record<string, string>; signal: AbortSignal | undefined},
) => {
  for (let tried = 1; ; tried++) {
    try {
      const outcome = await reach({operation: 'metadata', method: 'GET', path: `/crm/v8/settings/${resource}`, query, signal})
      return listOf(outcome, resource) as Json[]
    } catch (error) {
      if (!(error instanceof CrmError) || !error.crm.retryable || tried === tries || signal?.aborted) throw error
      await sleep(Math.min(error.crm.retryAfterMs ?? 250 * 2 ** tried, longestWaitMs), undefined, {signal})
    }
  }
}

/** Null when refused for this module alone; a missing scope, a spent day or no answer is every module's, and thrown. */
const unlessRefused = async <T>(read: () => Promise<T>): Promise<T | null> => {
  try {
    return await read()
  } catch (error) {
    if (error instanceof CrmError && !error.crm.rateLimited && [400, 403, 404].includes(error.crm.status ?? 0)) return null
    throw error
  }
}
