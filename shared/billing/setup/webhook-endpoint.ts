import type {Stripe} from 'stripe'
import {EVENT_TYPES} from '../events/meaning.ts'
import {nullWhereGone} from '../payment-failure.ts'
import {type SetupTools, setupKey, setupMetadata} from './catalog.ts'

/** `secret` is known when the endpoint is created, and never again. */
export type KeptEndpoint = {id: string; secret: string | null}

/** Finds the endpoint of an address and gives it our events, or creates it. The API version of an endpoint cannot be changed: a new one replaces it. */
export const keepEndpoint = async (tools: SetupTools, url: string): Promise<KeptEndpoint> => {
  const {payment} = tools
  const {Stripe: Sdk} = await import('stripe')
  const {data} = await payment.ask('list', stripe => stripe.webhookEndpoints.list({limit: 100}))
  const found = data.find(one => one.url === url && one.api_version === Sdk.API_VERSION)
  if (found) {
    const patch = {enabled_events: [...EVENT_TYPES], disabled: false}
    await payment.ask('webhook_endpoint', stripe => stripe.webhookEndpoints.update(found.id, patch))
    return {id: found.id, secret: null}
  }
  const params = {url, enabled_events: [...EVENT_TYPES], api_version: Sdk.API_VERSION, metadata: setupMetadata(tools)}
  const made = await createEndpoint(tools, params, null)
  // The answer kept under the key may be of an endpoint that was deleted since.
  const isThere = await payment.ask('webhook_endpoint', stripe => stripe.webhookEndpoints.retrieve(made.id)).catch(nullWhereGone)
  return isThere ? made : createEndpoint(tools, params, made.id)
}

const createEndpoint = async (
  tools: SetupTools,
  params: Stripe.WebhookEndpointCreateParams,
  insteadOf: string | null,
): Promise<KeptEndpoint> => {
  const idempotencyKey = setupKey(tools, 'endpoint', [params, insteadOf])
  const {id, secret = null} = await tools.payment.ask('webhook_endpoint', stripe =>
    stripe.webhookEndpoints.create(params, {idempotencyKey}),
  )
  return {id, secret}
}
