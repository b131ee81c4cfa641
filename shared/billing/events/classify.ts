/**
 * The subject of an event, which decides what is read from the provider: the org's subscription, its cards, a Checkout, a top-up or a
 * customer. Some subjects only cause a notification.
 */
type EventKind =
  | 'subscription'
  | 'card'
  | 'checkout'
  | 'topup'
  | 'customer.gone'
  | 'trial.ending'
  | 'invoice.failed'
  | 'invoice.action'
  | 'refund'
  | 'dispute'
  | 'alarm'

/** The event types that are applied. All others are ignored, such as `invoice.created` and `invoice.finalized`. */
const MEANINGS = {
  'checkout.session.completed': 'checkout',
  'checkout.session.async_payment_succeeded': 'checkout',
  'checkout.session.async_payment_failed': 'checkout',
  'checkout.session.expired': 'checkout',
  'customer.subscription.created': 'subscription',
  'customer.subscription.updated': 'subscription',
  'customer.subscription.deleted': 'subscription',
  'customer.subscription.paused': 'subscription',
  'customer.subscription.resumed': 'subscription',
  'customer.subscription.trial_will_end': 'trial.ending',
  // The customer confirmed or abandoned the payment of an upgrade.
  'customer.subscription.pending_update_applied': 'subscription',
  'customer.subscription.pending_update_expired': 'subscription',
  'subscription_schedule.updated': 'subscription',
  'subscription_schedule.released': 'subscription',
  'subscription_schedule.completed': 'subscription',
  'subscription_schedule.canceled': 'subscription',
  'subscription_schedule.aborted': 'subscription',
  'invoice.paid': 'subscription',
  'invoice.voided': 'subscription',
  'invoice.finalization_failed': 'alarm',
  'invoice.payment_failed': 'invoice.failed',
  'invoice.marked_uncollectible': 'invoice.failed',
  'invoice.payment_action_required': 'invoice.action',
  'payment_intent.succeeded': 'topup',
  'payment_intent.payment_failed': 'topup',
  'payment_intent.canceled': 'topup',
  'charge.refunded': 'refund',
  'charge.dispute.created': 'dispute',
  'charge.dispute.closed': 'dispute',
  'customer.updated': 'card',
  'payment_method.attached': 'card',
  'payment_method.detached': 'card',
  'payment_method.automatically_updated': 'card',
  'customer.deleted': 'customer.gone',
} as const satisfies Record<string, EventKind>

export const classifyEvent = (type: string): EventKind | null => (Object.hasOwn(MEANINGS, type) ? MEANINGS[type as EventType] : null)

type EventType = keyof typeof MEANINGS

/**
 * The event types to which our webhook endpoint subscribes. The list excludes `invoice.created`, because the provider would then delay
 * invoices.
 */
export const EVENT_TYPES = Object.keys(MEANINGS) as EventType[]
