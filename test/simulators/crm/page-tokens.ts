import {CallRefused, refuse} from './answers.ts'
import type {Call} from './call.ts'
import type {Module} from './modules.ts'

const mostRecords = 100_000
const livesMs = 24 * 3600_000

/**
 * Where a page starts. `lastId`: the last record of the previous page, in reads sorted by id. `skip`: the number of records to skip. `given`:
 * the number of records returned so far.
 */
export type PageToken = {lastId?: string; skip: number; given: number; page: number}

type KeptToken = {bound: string; lastId: string; given: number; page: number; until: number}

/** Returns what a token is bound to: the org, the module and all parameters but those of the page. */
const boundTo = (call: Call, module: Module) => {
  const rest = [...call.query].filter(([name]) => !['page_token', 'page', 'per_page'].includes(name)).sort()
  return `${call.org.key}/${module.name}?${new URLSearchParams(rest)}`
}

export const nextToken = (call: Call, module: Module, {lastId, given}: {lastId: string; given: number}): string => {
  const page = Number(call.query.get('page') ?? openToken(call, module)?.page ?? 1) + 1
  const kept: KeptToken = {bound: boundTo(call, module), lastId, given, page, until: call.org.clock.now() + livesMs}
  return Buffer.from(JSON.stringify(kept)).toString('base64url')
}

export const openToken = (call: Call, module: Module): PageToken | null => {
  const text = call.query.get('page_token')
  if (!text) return null
  const kept = decode(text)
  if (!kept) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'page_token'}))
  if (kept.bound !== boundTo(call, module)) throw new CallRefused(refuse(400, 'TOKEN_BOUND_DATA_MISMATCH', {param_name: 'page_token'}))
  if (kept.until < call.org.clock.now()) throw new CallRefused(refuse(400, 'EXPIRED_VALUE', {param_name: 'page_token'}))
  if (kept.given >= mostRecords) throw new CallRefused(refuse(400, 'PAGINATION_LIMIT_EXCEEDED', {limit: mostRecords}))
  const isById = !call.query.get('sort_by') && call.query.get('sort_order') !== 'asc'
  return {...(isById ? {lastId: kept.lastId} : {}), skip: isById ? 0 : kept.given, given: kept.given, page: kept.page}
}

const decode = (text: string): KeptToken | null => {
  try {
    const kept = JSON.parse(Buffer.from(text, 'base64url').toString())
    return typeof kept?.bound === 'string' ? kept : null
  } catch {
    return null
  }
}
