import type {Tx} from '../../sql/database.ts'
import {hasUsageNotice} from '../../sql/notices.ts'
import {announce} from './announce.ts'

/** The announced thresholds, in per cent of the period's limit. */
const MARKS = [50, 80, 100] as const

type Use = {
  org: string
  kind: 'usage.rows' | 'usage.credits'
  window: {startsAt: string; endsAt: string}
  limit: number
  before: number
  used: number
}

/**
 * Announces that the use of a period reached a threshold of the limit, once per threshold. If the use passes several thresholds at once,
 * announces only the highest. Call this in the transaction that raises the use from `before` to `used`, with a lock on the period.
 */
export const announceUse = async (tx: Tx, {org, kind, window: {startsAt: periodStart, endsAt: periodEnd}, limit, before, used}: Use) => {
  const percent = markPassed({limit, before, used})
  if (percent === null || (await hasUsageNotice(tx, {org, kind, periodStart, percent}))) return
  await announce(tx, {org, kind, schedule: null, about: {percent, used, limit, periodStart, periodEnd}})
}

export const markPassed = ({limit, before, used}: Pick<Use, 'limit' | 'before' | 'used'>): number | null =>
  MARKS.findLast(mark => before * 100 < mark * limit && used * 100 >= mark * limit) ?? null
