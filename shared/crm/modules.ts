import {setTimeout as sleep} from 'node:timers/promises'
import {mapConcurrent} from '../concurrency/map-concurrent.ts'
import type {ReadOptions} from './crm.ts'
import type {DiscoveredModule} from './discovered.ts'
import {CrmError, type CrmProblem, describeProblem} from './error.ts'
import {describeModules, type Json, listModules} from './metadata.ts'
import {listOf, type SendCrmRequest} from './request.ts'

const modulesAtOnce = 4
const tries = 4
const longestWaitMs = 10_000
/**
 * The maximum number of modules whose read may fail other than by a refusal. If more modules or all modules fail in this way, the discovery fails.
 */
const mostFailed = 5

/**
 * Reads the modules that `listModules` selects. A retryable read is tried up to four times. A module that the CRM refuses or does not answer for is
 * marked `unread` with the reason. Throws CrmError for an error that concerns every module (`isGeneral`). Also throws if more than five modules, or
 * all modules, fail other than by a refusal.
 */
export const readModules = async (
  sendCrmRequest: SendCrmRequest,
  {signal, onProgress}: ReadOptions & {onProgress?(done: number, total: number): Promise<void>} = {},
): Promise<DiscoveredModule[]> => {
  const ask: ReadResource = (resource, query = {}) => readWithRetry(sendCrmRequest, {resource, query, signal})
  const askRules = openRuleReader(ask)
  const modules = listModules(await ask('modules'))
  let done = 0
  // Progress reports are sent in sequence, because two concurrent reports could arrive in either order.
  let reported: Promise<unknown> = Promise.resolve()
  let failed = 0
  const read = await mapConcurrent(modules, modulesAtOnce, async ({json, apiName, isSubform}) => {
    const module = await unlessFailed(json, async () => {
      const fields = await ask('fields', {module: apiName})
      const layouts = isSubform ? null : await unlessRefused(() => ask('layouts', {module: apiName}))
      return {json, fields, layouts: layouts ?? [], assignmentRules: isSubform ? null : await askRules(apiName)}
    })
    if ('error' in module && !isModuleRefused(module.error) && ++failed > Math.min(mostFailed, modules.length - 1)) throw module.error
    await (reported = reported.then(() => onProgress?.(++done, modules.length)))
    return module
  })
  return describeModules(read)
}

type ReadResource = (
  resource: 'modules' | 'fields' | 'layouts' | 'automation/assignment_rules',
  query?: Record<string, string>,
) => Promise<Json[]>

/**
 * The returned function reads the assignment rules of a module, or returns null if the CRM refuses. A consent older than this feature lacks the
 * scope, so after the first refusal for a missing scope, no other rules are requested. Source: zoho/crm-oas, v8.0/assignment_rules.json.
 */
const openRuleReader = (ask: ReadResource) => {
  let lacksScope = false
  return async (module: string): Promise<Json[] | null> => {
    if (lacksScope) return null
    try {
      return await ask('automation/assignment_rules', {module})
    } catch (error) {
      if (!(error instanceof CrmError)) throw error
      const isScope = error.crm.code === 'OAUTH_SCOPE_MISMATCH'
      if (isScope) lacksScope = true
      if (isScope || isModuleRefused(error)) return null
      throw error
    }
  }
}

const readWithRetry = async (
  sendCrmRequest: SendCrmRequest,
  {resource, query, signal}: {resource: string; query: Record<string, string>; signal: AbortSignal | undefined},
) => {
  for (let tried = 1; ; tried++) {
    try {
      const outcome = await sendCrmRequest({operation: 'metadata', method: 'GET', path: `/crm/v8/settings/${resource}`, query, signal})
      return listOf(outcome, resource.split('/').at(-1)!) as Json[]
    } catch (error) {
      if (!(error instanceof CrmError) || !error.crm.retryable || tried === tries || signal?.aborted) throw error
      await sleep(Math.min(error.crm.retryAfterMs ?? 250 * 2 ** tried, longestWaitMs), undefined, {signal})
    }
  }
}

/**
 * If the CRM refuses or does not answer, returns the module without fields and with the reason. Throws an error that concerns every module
 * (`isGeneral`).
 */
const unlessFailed = async <T>(json: Json, read: () => Promise<T>) => {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof CrmError) || isGeneral(error.crm)) throw error
    const {code, status} = error.crm
    return {json, fields: [], layouts: [], unread: {code, status, message: describeProblem(error.crm)}, error}
  }
}

const isGeneral = ({status, rateLimited, quotaSpent}: CrmProblem) => status === 401 || rateLimited === true || quotaSpent

/** Returns null if the CRM refuses with 400, 403 or 404, which concerns this module alone. */
const unlessRefused = async <T>(read: () => Promise<T>): Promise<T | null> => {
  try {
    return await read()
  } catch (error) {
    if (error instanceof CrmError && isModuleRefused(error)) return null
    throw error
  }
}

const isModuleRefused = ({crm}: CrmError) => !crm.rateLimited && [400, 403, 404].includes(crm.status ?? 0)
