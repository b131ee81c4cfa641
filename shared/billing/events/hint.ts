import type {Stripe} from 'stripe'
import {z} from 'zod'
import type {Hint} from '../../../sql/payment-events.ts'
import {Refusal} from '../../errors.ts'

/** An id, or the thing that was expanded in its place. Whatever else the provider puts there is nothing we know. */
const Ref = z
  .union([z.string(), z.looseObject({id: z.string()}).transform(({id}) => id)])
  .nullish()
  .catch(null)
const Metadata = z.record(z.string(), z.string()).nullish().catch(null)
const Details = z.looseObject({subscription: Ref, metadata: Metadata}).nullish().catch(null)

const Thing = z.looseObject({
  object: z.string().catch('unknown'),
  id: z.string().nullish().catch(null),
  customer: Ref,
  subscription: Ref,
  released_subscription: Ref,
  charge: Ref,
  metadata: Metadata,
  parent: z.looseObject({subscription_details: Details}).nullish().catch(null),
})

/** What of an event the provider always sends. */
const EventShape = z.looseObject({
  id: z.string().min(1).max(255),
  type: z.string().min(1).max(255),
  created: z.number(),
  livemode: z.boolean(),
  data: z.looseObject({object: z.looseObject({})}),
})

/** A body may be signed and still be no event: whoever signs it is told so, instead of being asked to send it again. */
export const assertEvent = (event: unknown): void => {
  if (!EventShape.safeParse(event).success)
    throw new Refusal('INVALID', 'The body is signed, but it is no event of the payment provider. Send an event as the provider makes it')
}

/** What is kept of an event. Of what it says nothing is believed but what it is about: whose state is meant is asked of the provider. */
export const hintOf = (event: Stripe.Event): Hint => {
  const thing = Thing.parse(event.data.object)
  const {object, id = null} = thing
  const before = z.looseObject({customer: Ref}).catch({customer: null}).parse(event.data.previous_attributes)
  const details = thing.parent?.subscription_details
  const metadata = thing.metadata?.app === undefined ? (details?.metadata ?? thing.metadata) : thing.metadata
  return {
    ...{object, id},
    // A card that was taken off somebody says only there whose it was.
    customer: object === 'customer' ? id : (thing.customer ?? before.customer ?? null),
    subscription: object === 'subscription' ? id : (thing.subscription ?? details?.subscription ?? thing.released_subscription ?? null),
    charge: object === 'charge' ? id : (thing.charge ?? null),
    ...{app: metadata?.app ?? null, env: metadata?.env ?? null, org: metadata?.org_id ?? null},
    ...{kind: metadata?.kind ?? null, attempt: metadata?.attempt_id ?? null},
    ...{key: event.request?.idempotency_key ?? null, created: event.created, live: event.livemode},
  }
}
