import {BRIEF, counter, gauge, histogram} from './registry.ts'

/** The kinds of calls, named independently of the destination. */
const OPERATIONS = [
  'create',
  'update',
  'replace_rows',
  'tag',
  'read',
  'search',
  'query',
  'metadata',
  'delete',
  'restore',
  'users',
  'licence',
  'token',
  'revoke',
  'bulk_read',
  'bulk_write',
] as const
export type CrmOperation = (typeof OPERATIONS)[number]

/**
 * The outcome of a call, by its HTTP status alone. A refusal that an accounts host sends with status 200 is `ok`. `refused`: any 4xx except 429 and
 * 401. `called_off`: the caller cancelled the call, or it was too late to send the call.
 */
export type CallOutcome = 'ok' | 'refused' | 'unauthorised' | 'rate_limited' | 'server_error' | 'no_answer' | 'called_off'

const calls = counter({
  name: 'crm_calls_total',
  help: 'Completed calls to CRMs, by kind and outcome; the outcomes of rows are counted separately',
  labels: ['operation', 'outcome'],
})
const seconds = histogram({
  name: 'crm_call_seconds',
  help: 'Duration of calls to CRMs, including the connection',
  labels: ['operation'],
  bounds: BRIEF,
})
const inUse = gauge({name: 'crm_slots_in_use', help: 'Calls of this process that hold a slot of a CRM’s concurrency budget'})
const waiting = gauge({name: 'crm_slots_waiting', help: 'Calls of this process that wait for a slot'})
const waited = histogram({name: 'crm_slot_wait_seconds', help: 'Waiting time of calls that had to wait for a slot', bounds: BRIEF})

export const callEnded = ({operation, outcome, ms}: {operation: CrmOperation; outcome: CallOutcome; ms: number}): void => {
  calls.inc({operation, outcome})
  seconds.observe({operation}, ms / 1000)
}

export const slotTaken = (): void => inUse.inc()
export const slotGiven = (): void => inUse.dec()

/** Measures the wait for a slot. Call the returned function when the wait ends, with or without a slot. */
export const slotAwaited = (): ((taken: boolean) => void) => {
  const since = performance.now()
  waiting.inc()
  return taken => {
    waiting.dec()
    if (taken) waited.observe((performance.now() - since) / 1000)
  }
}
