import type {Tx} from '../../sql/database.ts'
import {hasUsageNotice} from '../../sql/notices.ts'
import {announce} from './announce.ts'

/** The announced marks, in per cent of the period's limit. */
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
 * Announces a mark of the period's limit, once per period, in the transaction that raises the use from `before` to `used`. If the use passes several
 * marks at once, only the highest is announced. The caller holds a lock on the period.
 */
export const announceUse = async (tx: Tx, {org, kind, window: {startsAt: periodStart, endsAt: periodEnd}, limit, before, used}: Use) => {
  const percent = markPassed({limit, before, used})
  if (percent === null || (await hasUsageNotice(tx, {org, kind, periodStart, percent}))) return
  await announce(tx, {org, kind, schedule: null, about: {percent, used, limit, periodStart, periodEnd}})
}

export const markPassed = ({limit, before, used}: Pick<Use, 'limit' | 'before' | 'used'>): number | null =>
  MARKS.findLast(mark => before * 100 < mark * limit && used * 100 >= mark * limit) ?? null
