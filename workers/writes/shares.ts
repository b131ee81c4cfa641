import type {Budget, Share} from '../../shared/crm/budget.ts'
import {type KeptShares, keepShares} from '../../shared/crm/kept-shares.ts'
import type {CrmOrg} from '../../sql/allowances.ts'
import type {Tools} from '../tools.ts'

const kept = new WeakMap<Budget, KeptShares>()

/** The one share this process has of a CRM org's budget for the writes of outside engines, kept for a while after the last of them has closed it. */
export const openShare = ({budget, drain}: Pick<Tools, 'budget' | 'drain'>, org: CrmOrg): Share => {
  const shares = kept.get(budget) ?? keepUntil(drain, budget)
  kept.set(budget, shares)
  const {share, leave} = shares.enter(org)
  return {...share, close: async () => leave()}
}

const keepUntil = (drain: AbortSignal, budget: Budget): KeptShares => {
  const shares = keepShares(budget)
  if (drain.aborted) shares.drain()
  else drain.addEventListener('abort', () => shares.drain(), {once: true})
  return shares
}
