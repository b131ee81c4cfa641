import {z} from 'zod'

/** The kinds of events that a user can subscribe to. `webhook.test` is not one of them, because it goes only to the tested endpoint. */
export const KINDS = [
  'run.ended',
  'run.undone',
  'run.held',
  'plan.waiting',
  'plan.approved',
  'template.approved',
  'schedule.stopped',
  'schedule.skipped',
  'schedule.failed',
  'schedule.drifted',
  'template.broken',
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

export const NoticeKind = z.enum(KINDS)
export type NoticeKind = z.output<typeof NoticeKind>
