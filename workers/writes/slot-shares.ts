import type {Budget, SlotShare} from '../../shared/crm/limits/budget.ts'
import {openSharePool, type SharePool} from '../../shared/crm/limits/share-pool.ts'
import type {CrmOrg} from '../../sql/crm-quota.ts'
import type {WorkerDeps} from '../deps.ts'

const kept = new WeakMap<Budget, SharePool>()

/**
 * Opens the share of a CRM org's slot pool that this process uses for all writes of external engines. The share is kept for a while after
 * its last user has closed it.
 */
export const openShare = ({budget, drain}: Pick<WorkerDeps, 'budget' | 'drain'>, org: CrmOrg): SlotShare => {
  const shares = kept.get(budget) ?? keepUntil(drain, budget)
  kept.set(budget, shares)
  const {share, leave} = shares.enter(org)
  return {...share, close: async () => leave()}
}

const keepUntil = (drain: AbortSignal, budget: Budget): SharePool => {
  const shares = openSharePool(budget)
  if (drain.aborted) shares.drain()
  else drain.addEventListener('abort', () => shares.drain(), {once: true})
  return shares
}
