import {AI_FEATURES, listAiUsage} from '../../sql/ai-usage.ts'
import type {Pool} from '../../sql/database.ts'
import {holdCurrent} from '../billing/credits/balance.ts'
import {PRICES} from './credits.ts'

/** Returns credits and tokens of the period by feature, including unused features. `prices`: credits per 1,000 tokens. */
export const readAiUsage = (db: Pool, org: string) =>
  db.transaction(async tx => {
    const {balance, planStatus} = await holdCurrent(tx, org)
    const used = await listAiUsage(tx, {org, periodStart: planStatus.window.startsAt})
    const {periodStart, periodEnd, ...credits} = balance
    const none = {requests: 0, failed: 0, inputTokens: 0, outputTokens: 0, credits: 0}
    return {
      periodStart,
      periodEnd,
      credits: {...credits, spent: used.reduce((sum, one) => sum + one.credits, 0)},
      byFeature: AI_FEATURES.map(feature => ({...none, ...used.find(one => one.feature === feature), feature, prices: PRICES[feature]})),
    }
  })
