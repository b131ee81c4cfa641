import type {Tx} from '../../sql/database.ts'
import {hasSaidUse} from '../../sql/notices.ts'
import {announce} from './announce.ts'

/** Of what a period has, in per cent. */
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
 * For the transaction in which `before` becomes `used`: says which mark that passes, once in a period. Where it passes several at once, the
 * highest. Whoever counts is alone with the period until the transaction ends.
 */
export const announceUse = async (tx: Tx, {org, kind, window: {startsAt: periodStart, endsAt: periodEnd}, limit, before, used}: Use) => {
  const percent = markPassed({limit, before, used})
  if (percent === null || (await hasSaidUse(tx, {org, kind, periodStart, percent}))) return
  await announce(tx, {org, kind, schedule: null, about: {percent, used, limit, periodStart, periodEnd}})
}

export const markPassed = ({limit, before, used}: Pick<Use, 'limit' | 'before' | 'used'>): number | null =>
  MARKS.findLast(mark => before * 100 < mark * limit && used * 100 >= mark * limit) ?? null
