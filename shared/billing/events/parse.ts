import type {Stripe} from 'stripe'
import {z} from 'zod'
import type {EventHint} from '../../../sql/payment-events.ts'
import {Refusal} from '../../errors.ts'

/** Plain ASCII, like all of the provider's names. Postgres can store neither NUL nor half a surrogate pair. */
const Name = z.string().regex(/^[\x20-\x7e]*$/)

const Word = Name.nullish().catch(null)

/** The id of an object that the event names, even if the object is expanded. Any other value is ignored. */
const Ref = z
  .union([Name, z.looseObject({id: Name}).transform(({id}) => id)])
  .nullish()
  .catch(null)
const Metadata = z.looseObject({app: Word, env: Word, org_id: Word, kind: Word, attempt_id: Word}).nullish().catch(null)
const Details = z.looseObject({subscription: Ref, metadata: Metadata}).nullish().catch(null)

const Thing = z.looseObject({
  object: Name.catch('unknown'),
  id: Word,
  customer: Ref,
  subscription: Ref,
  released_subscription: Ref,
  charge: Ref,
  metadata: Metadata,
  parent: z.looseObject({subscription_details: Details}).nullish().catch(null),
})

const EventShape = z.looseObject({
  id: Name.min(1).max(255),
  type: Name.min(1).max(255),
  created: z.number(),
  livemode: z.boolean(),
  data: z.looseObject({object: z.looseObject({})}),
})

export const assertEvent = (event: unknown): void => {
  if (!EventShape.safeParse(event).success)
    throw new Refusal('INVALID', 'The body is signed, but it is not an event of the payment provider. Send the event unchanged')
}

/**
 * Returns the parts of an event that are stored: the ids that it names, its metadata and its time. The present state of these objects is read
 * from the provider later.
 */
export const parseHint = (event: Stripe.Event): EventHint => {
  const thing = Thing.parse(event.data.object)
  const {object, id = null} = thing
  const before = z.looseObject({customer: Ref}).catch({customer: null}).parse(event.data.previous_attributes)
  const details = thing.parent?.subscription_details
  const metadata = thing.metadata?.app === undefined ? (details?.metadata ?? thing.metadata) : thing.metadata
  return {
    object,
    id,
    // An event about a detached card names the customer only in its previous attributes.
    customer: object === 'customer' ? id : (thing.customer ?? before.customer ?? null),
    subscription: object === 'subscription' ? id : (thing.subscription ?? details?.subscription ?? thing.released_subscription ?? null),
    charge: object === 'charge' ? id : (thing.charge ?? null),
    app: metadata?.app ?? null,
    env: metadata?.env ?? null,
    org: metadata?.org_id ?? null,
    kind: metadata?.kind ?? null,
    attempt: metadata?.attempt_id ?? null,
    key: Word.parse(event.request?.idempotency_key) ?? null,
    created: event.created,
    live: event.livemode,
  }
}
