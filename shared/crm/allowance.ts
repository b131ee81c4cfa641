import type {Allowance} from './crm.ts'
import type {CrmProblem} from './error.ts'
import type {Outcome} from './outcome.ts'

export type Allowances = {
  note(org: string, outcome: Outcome, problem: CrmProblem | null): void
  read(org: string, now?: number): Allowance | null
}

const staleMs = 24 * 60 * 60_000

/**
 * What each CRM org last said of its rolling 24-hour credits, in this process. The header comes only once half the day is spent, so
 * its absence says nothing. `spent` is set by a refusal that carries the header at zero and lifted by the next call answered as asked.
 */
export const openAllowances = (): Allowances => {
  const kept = new Map<string, Allowance>()
  const read = (org: string, now = Date.now()) => {
    const allowance = kept.get(org)
    if (!allowance) return null
    const isStale = allowance.remainingAt !== null && now - Date.parse(allowance.remainingAt) > staleMs
    return isStale ? {...allowance, remaining: null} : allowance
  }
  return {
    read,
    note(org, outcome, problem) {
      if (!('json' in outcome)) return
      const before = kept.get(org) ?? {remaining: null, remainingAt: null, spent: false, spentAt: null}
      const now = new Date().toISOString()
      const counted = outcome.creditsRemaining === null ? {} : {remaining: Math.max(0, outcome.creditsRemaining), remainingAt: now}
      kept.set(org, {...before, ...counted, ...spending(problem, now)})
    },
  }
}

const spending = (problem: CrmProblem | null, now: string) => {
  if (problem?.quotaSpent) return {spent: true, spentAt: now}
  return problem ? {} : {spent: false, spentAt: null}
}
