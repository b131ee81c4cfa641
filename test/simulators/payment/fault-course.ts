import {setTimeout as wait} from 'node:timers/promises'
import {type Answer, failed} from './answers.ts'
import type {Fault} from './faults.ts'
import type {SimulatorState} from './simulator-state.ts'

/** The end of a call: a full answer, half of one, or none. */
export type Spoiled = {answer: Answer; end: 'answered' | 'dropped' | 'halved'}

/** The end of a call that never takes effect, or null to continue. */
export const spoilBefore = async (world: SimulatorState, fault: Fault | null, requestId: string): Promise<Spoiled | null> => {
  const action = fault?.action
  if (!action || ('when' in action && action.when === 'after')) return null
  if (action.type === 'slow') await wait(action.ms)
  if (action.type === 'hold') await world.faults.wait()
  if (action.type === 'reset') return {answer: {status: 0}, end: 'dropped'}
  if (action.type === 'rateLimit') return {answer: limited(action), end: 'answered'}
  return action.type === 'status' ? {answer: broken(action, requestId), end: 'answered'} : null
}

/** Changes the answer of a call that took effect. */
export const spoilAfter = async (world: SimulatorState, fault: Fault | null, answer: Answer, requestId: string): Promise<Spoiled> => {
  const action = fault?.action
  const spoiled: Spoiled = {answer, end: 'answered'}
  if (action?.type === 'half') return {answer, end: 'halved'}
  if (!action || !('when' in action) || action.when !== 'after') return spoiled
  if (action.type === 'slow') await wait(action.ms)
  if (action.type === 'hold') await world.faults.wait()
  if (action.type === 'reset') return {answer, end: 'dropped'}
  return action.type === 'status' ? {answer: broken(action, requestId), end: 'answered'} : spoiled
}

/** A failure before the effect leaves the key free, unless it is saved under the key. */
export const saveFault = (world: SimulatorState, fault: Fault | null, key: string, answer: Answer) => {
  if (fault?.action.type === 'status' && fault.action.saved) world.keys.keep(key, answer)
  else if (fault && isBefore(fault)) world.keys.forget(key)
}

const isBefore = ({action}: Fault) =>
  action.type === 'rateLimit' || ((action.type === 'status' || action.type === 'reset') && (action.when ?? 'before') === 'before')

const broken = (
  {status, body = 'error', shouldRetry}: {status: number; body?: string; shouldRetry?: boolean},
  requestId: string,
): Answer => {
  const headers = retryHeader(shouldRetry)
  if (body === 'html') return {status, text: `<html><body><h1>${status}</h1></body></html>`, type: 'text/html', headers}
  if (body === 'bare') return {status, body: {message: 'Bad gateway'}, headers}
  return {...failed(status, requestId), headers}
}

const limited = ({code = 'rate_limit', shouldRetry}: {code?: string; shouldRetry?: boolean}): Answer => ({
  status: 429,
  body: {error: {type: 'invalid_request_error', code, message: 'Request rate limit exceeded.'}},
  headers: retryHeader(shouldRetry),
})

const retryHeader = (shouldRetry: boolean | undefined): Record<string, string> =>
  shouldRetry === undefined ? {} : {'stripe-should-retry': String(shouldRetry)}
