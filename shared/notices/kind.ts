import {z} from 'zod'

/** What somebody may ask to be told of. An endpoint's test (`webhook.test`) is told to that endpoint alone, and is none of them. */
export const KINDS = [
  'run.ended',
  'schedule.stopped',
  'schedule.skipped',
  'schedule.failed',
  'schedule.drifted',
  'webhook.disabled',
  'usage.rows',
  'usage.credits',
  'billing.payment_failed',
  'billing.action_required',
  'billing.trial_ending',
  'billing.topup_stopped',
  'billing.refunded',
  'billing.disputed',
  'billing.plan_changed',
] as const

export const Kind = z.enum(KINDS)
export type Kind = z.output<typeof Kind>
