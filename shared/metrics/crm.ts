import {BRIEF, counter, gauge, histogram} from './registry.ts'

/** The kinds of calls there are, whatever the destination calls them. */
const OPERATIONS = [
  ...['create', 'update', 'replace_rows', 'read', 'search', 'query'],
  ...['metadata', 'users', 'licence', 'token', 'revoke'],
] as const
export type Operation = (typeof OPERATIONS)[number]

/**
 * By the status alone: an accounts host that refuses with 200 is `ok`. `refused`: any 4xx but 429 and 401. `called_off`: whoever asked no longer
 * waited, or it was too late for it to leave.
 */
export type CallOutcome = 'ok' | 'refused' | 'unauthorised' | 'rate_limited' | 'server_error' | 'no_answer' | 'called_off'

const calls = counter({
  name: 'crm_calls_total',
  help: 'Calls to CRMs that are over, by kind and outcome; what became of the rows of a call is counted as rows',
  labels: ['operation', 'outcome'],
})
const seconds = histogram({
  name: 'crm_call_seconds',
  help: 'How long calls to CRMs took, connecting included',
  labels: ['operation'],
  bounds: BRIEF,
})
const inUse = gauge({name: 'crm_slots_in_use', help: 'Calls of this process that hold a slot of a CRM’s concurrency budget'})
const waiting = gauge({name: 'crm_slots_waiting', help: 'Calls of this process that wait for a slot'})
const waited = histogram({name: 'crm_slot_wait_seconds', help: 'How long calls that had to wait for a slot waited', bounds: BRIEF})

export const callEnded = ({operation, outcome, ms}: {operation: Operation; outcome: CallOutcome; ms: number}): void => {
  calls.inc({operation, outcome})
  seconds.observe({operation}, ms / 1000)
}

export const slotTaken = (): void => inUse.inc()
export const slotGiven = (): void => inUse.dec()

/** Answers what is to be called when the wait is over, whether a slot came of it or not. */
export const slotAwaited = (): ((taken: boolean) => void) => {
  const since = performance.now()
  waiting.inc()
  return taken => {
    waiting.dec()
    if (taken) waited.observe((performance.now() - since) / 1000)
  }
}
