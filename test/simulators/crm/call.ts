import type {IncomingHttpHeaders} from 'node:http'
import {CallRefused, type Refusal, refuse} from './answers.ts'
import type {Fault} from './faults.ts'
import type {Module} from './modules.ts'
import type {Org, User} from './org.ts'
import type {SimulatorState} from './simulator-state.ts'

/** One authenticated call to the CRM. */
export type Call = {
  world: SimulatorState
  method: string
  path: string
  segments: string[]
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: string
  bytes: Buffer
  /** The body as JSON; set by the first `jsonOf`. */
  json?: unknown
  org: Org
  user: User
  clientId: string
  /** How a fault refuses single records of a write, by the index of the record. */
  refusals: Map<number, Refusal> | null
  fault: Fault | null
  /** By how much a fault moves the time that a write stores, in ms. */
  skewMs: number
  /** Whether the call changed data; set by the call itself. */
  committed: boolean
}

export const moduleOf = (call: Call, name: string, index = 0): Module => {
  const module = call.org.modules.get(name)
  if (module && module.spec.apiSupported !== false) return module
  throw new CallRefused(refuse(400, 'INVALID_MODULE', {resource_path_index: index}))
}

export const numberParam = (call: Call, name: string, fallback: number, {most}: {most?: number} = {}): number => {
  const text = call.query.get(name)
  if (text === null || text === '') return fallback
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || (most !== undefined && value > most)) {
    throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: name, ...(most === undefined ? {} : {maximum_length: most})}))
  }
  return value
}

export const listParam = (call: Call, name: string): string[] => {
  const text = call.query.get(name) ?? ''
  return text
    .split(',')
    .map(one => one.trim())
    .filter(Boolean)
}

/** Reads a time from a header such as `If-Modified-Since`, in ms; null without the header. Throws if it is no date. */
export const headerInstant = (call: Call, name: string): number | null => {
  const value = call.headers[name]
  if (typeof value !== 'string') return null
  const ms = Date.parse(value)
  if (Number.isNaN(ms)) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: name}))
  return ms
}

export const isId = (text: string) => /^\d{1,19}$/.test(text)

/** Returns the body as JSON, parsed once; undefined if invalid. Callers must not change it, because writes store parts of it. */
export const jsonOf = (call: Call): unknown => {
  if (!('json' in call)) call.json = parse(call.body)
  return call.json
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
