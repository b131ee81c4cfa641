import {setTimeout as wait} from 'node:timers/promises'
import {throttled} from './accounts.ts'
import {type Answer, refusal} from './answers.ts'
import {toMs} from './clock.ts'
import {actionOf, type Fault, type FaultAction} from './faults.ts'
import {writeForeign} from './foreign.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {AccessToken} from './tokens.ts'

/**
 * How a call ends: with the answer (`answered`), without it (`dropped`) or with half of it (`truncated`). The journal also notes calls executed
 * `late`, and answers that were not sent because the call was `repeated`.
 */
export type Outcome = {answer: Answer; end: 'answered' | 'dropped' | 'truncated' | 'late' | 'repeated'}

/** Applies what a fault changes before the call: tokens, clock and credits. */
export const disturb = (world: SimulatorState, fault: Fault | null, token: AccessToken | null, refresh: string | null) => {
  if (actionOf(fault, 'expireToken') && token) world.tokens.access.delete(token.token)
  if (actionOf(fault, 'revokeGrant')) world.tokens.revoke(token?.refreshToken ?? refresh ?? token?.token ?? '')
  const jump = actionOf(fault, 'clockJump')
  if (jump && token) token.org.switches.clockOffsetSeconds += jump.seconds
  const spent = actionOf(fault, 'allowanceSpent')
  if (!spent || !token) return
  const until = spent.until === undefined ? world.clock.now() + (spent.forSeconds ?? 3600) * 1000 : toMs(spent.until)
  token.org.credits.exhaustUntil(until)
}

/** Returns the end of a call that a fault keeps from taking effect, or null to continue. */
export const interrupt = (world: SimulatorState, fault: Fault | null): Outcome | null => {
  for (const action of fault?.actions ?? []) {
    if (action.type === 'dropBefore' || (action.type === 'tokenDown' && action.drop)) return {answer: {status: 0}, end: 'dropped'}
    const answer = interrupting(world, action)
    if (answer) return {answer, end: 'answered'}
  }
  return null
}

/** Applies what a fault does while the call is in flight: waits, holds the call, or writes as another user. */
export const linger = async (world: SimulatorState, fault: Fault | null, when: 'before' | 'after') => {
  for (const action of fault?.actions ?? []) {
    if (!('when' in action ? action.when === when : when === 'before')) continue
    if (action.type === 'slow') await wait(action.ms)
    if (action.type === 'hold') await world.holds.wait()
    if (action.type === 'foreignCreate') writeForeign(world, action)
  }
}

/** Applies what a fault changes in the answer of a call that took effect. */
export const spoil = (world: SimulatorState, fault: Fault | null, answer: Answer): Outcome => {
  let outcome: Outcome = {answer, end: 'answered'}
  for (const action of fault?.actions ?? []) {
    if (action.type === 'dropAfter') outcome = {...outcome, end: 'dropped'}
    else if (action.type === 'truncateAfter') outcome = {answer: {...outcome.answer, status: 200}, end: 'truncated'}
    else outcome = {...outcome, answer: spoiled(world, action, outcome.answer)}
  }
  return {...outcome, answer: {...outcome.answer, committed: Boolean(answer.committed)}}
}

const interrupting = (world: SimulatorState, action: FaultAction): Answer | null => {
  switch (action.type) {
    case 'status5xxBefore':
      return serverError(world, action)
    case 'tokenDown':
      return serverError(world, {status: action.status ?? 503, html: true})
    case 'tokenThrottle':
      return throttled()
    case 'rateLimit':
      return rateLimited(world, action)
    case 'redirect':
      return action.when === 'after' ? null : redirected(world, action.to)
    case 'answer':
      return action.when === 'after' ? null : given(action)
    default:
      return null
  }
}

const spoiled = (world: SimulatorState, action: FaultAction, answer: Answer): Answer => {
  switch (action.type) {
    case 'status5xxAfter':
      return serverError(world, action)
    case 'nonJson':
      return {status: action.status ?? 200, text: '<html><body>It works.</body></html>', type: 'text/html;charset=UTF-8'}
    case 'emptyBody':
      return {status: action.status ?? 200}
    case 'successNoId':
      return eachEntry(answer, (entry, index) => (action.index === undefined || action.index === index ? {...entry, details: {}} : entry))
    case 'shortData':
      return withEntries(answer, entries => without(entries, action))
    case 'wrongId':
      return withEntries(answer, entries => withWrongId(entries, action))
    case 'shuffleData':
      return withEntries(answer, entries => entries.toReversed())
    case 'resultHost':
      return withResultHost(answer, action.origin)
    case 'brokenZip':
      return answer.bytes ? {...answer, bytes: broken(answer.bytes, action.how)} : answer
    case 'redirect':
      return action.when === 'after' ? redirected(world, action.to) : answer
    case 'answer':
      return action.when === 'after' ? given(action) : answer
    default:
      return answer
  }
}

const withResultHost = (answer: Answer, origin: string): Answer => {
  const url = answer.body?.result?.download_url
  if (typeof url !== 'string') return answer
  const {pathname} = new URL(url, 'http://relative')
  return {...answer, body: {...answer.body, result: {download_url: `${origin}${pathname}`}}}
}

/** Returns a broken file: truncated, with a wrong checksum, or text instead of a ZIP file. */
const broken = (zip: Buffer, how: 'truncated' | 'checksum' | 'text' = 'truncated'): Buffer => {
  if (how === 'text') return Buffer.from('Last_Name\r\nOno\r\n')
  if (how === 'truncated') return zip.subarray(0, Math.floor(zip.length / 2))
  const [local, central] = [14, zip.lastIndexOf(Buffer.from('PK\u0001\u0002')) + 16]
  const changed = Buffer.from(zip)
  for (const at of [local, central]) changed.writeUInt32LE((changed.readUInt32LE(at) ^ 1) >>> 0, at)
  return changed
}

/** Removes `by` entries: by default the last one. */
const without = (entries: any[], {by = 1, at = 'last'}: {by?: number; at?: 'first' | 'middle' | 'last'}) => {
  const room = Math.max(0, entries.length - by)
  return entries.toSpliced(at === 'first' ? 0 : at === 'last' ? room : Math.ceil(room / 2), by)
}

const withWrongId = (entries: any[], {index = 0, of = index + 1, id}: {index?: number; of?: number; id?: string}) => {
  const named = id ?? entries[of]?.details?.id
  if (named === undefined) return entries
  return entries.map((entry, at) => (at === index ? {...entry, details: {...entry.details, id: named}} : entry))
}

const serverError = (
  world: SimulatorState,
  {status = 500, html = false, retryAfter}: {status?: number; html?: boolean; retryAfter?: number | string},
): Answer => {
  const headers: Record<string, string> = retryAfter === undefined ? {} : {'retry-after': retryText(world, retryAfter)}
  if (html) return {status, text: `<html><body><h1>${status}</h1></body></html>`, type: 'text/html;charset=UTF-8', headers}
  return {status, body: refusal('INTERNAL_ERROR'), headers}
}

const rateLimited = (world: SimulatorState, action: Extract<FaultAction, {type: 'rateLimit'}>): Answer => {
  const headers: Record<string, string> = {}
  if (action.retryAfter !== undefined) headers['retry-after'] = retryText(world, action.retryAfter)
  if (action.credits !== undefined) headers['x-api-credits-remaining'] = String(action.credits)
  const message = action.message ?? 'Too many requests'
  if (action.legacy) return {status: 429, body: {code: 429, error: 'TOO_MANY_REQUESTS', error_info: message, details: []}, headers}
  return {status: 429, body: refusal('TOO_MANY_REQUESTS', {}, message), headers}
}

/** Returns a Retry-After header: seconds as they are; `date:30` becomes the HTTP date thirty seconds from now. */
const retryText = (world: SimulatorState, retryAfter: number | string): string => {
  const [, seconds] = /^date:(\d+)$/.exec(String(retryAfter)) ?? []
  return seconds === undefined ? String(retryAfter) : new Date(world.clock.now() + Number(seconds) * 1000).toUTCString()
}

const redirected = (world: SimulatorState, to?: string): Answer => ({
  status: 302,
  text: '',
  headers: {location: to ?? `${world.hostOf(world.defaultDc)}/elsewhere`},
})

const given = ({status, body, text, headers}: Extract<FaultAction, {type: 'answer'}>): Answer => ({
  status,
  ...(body === undefined ? {} : {body}),
  ...(text === undefined ? {} : {text}),
  ...(headers === undefined ? {} : {headers}),
})

const withEntries = (answer: Answer, change: (entries: any[]) => any[]): Answer =>
  Array.isArray(answer.body?.data) ? {...answer, body: {...answer.body, data: change(answer.body.data)}} : answer

const eachEntry = (answer: Answer, change: (entry: any, index: number) => any): Answer =>
  withEntries(answer, entries => entries.map(change))
