import {EVENT_TYPES} from '../events/classify.ts'
import {createOnce, type SetupDeps, setupMetadata} from './catalog.ts'

/** A webhook endpoint. `secret`: null unless the endpoint was just created. */
export type KeptEndpoint = {id: string; secret: string | null}

/** Finds the endpoint with this URL and API version and updates its events, or creates one. The API version of an endpoint cannot be changed. */
export const keepEndpoint = async (deps: SetupDeps, url: string): Promise<KeptEndpoint> => {
  const {payment} = deps
  const {Stripe: Sdk} = await import('stripe')
  const {data} = await payment.ask('list', stripe => stripe.webhookEndpoints.list({limit: 100}))
  const found = data.find(one => one.url === url && one.api_version === Sdk.API_VERSION)
  if (found) {
    const patch = {enabled_events: [...EVENT_TYPES], disabled: false}
    await payment.ask('webhook_endpoint', stripe => stripe.webhookEndpoints.update(found.id, patch))
    return {id: found.id, secret: null}
  }
  const params = {url, enabled_events: [...EVENT_TYPES], api_version: Sdk.API_VERSION, metadata: setupMetadata(deps)}
  const {id, secret = null} = await createOnce(deps, {
    kind: 'endpoint',
    facts: params,
    create: idempotencyKey => payment.ask('webhook_endpoint', stripe => stripe.webhookEndpoints.create(params, {idempotencyKey})),
    read: made => payment.ask('webhook_endpoint', stripe => stripe.webhookEndpoints.retrieve(made)),
    isUsable: endpoint => endpoint.url === url,
  })
  return {id, secret}
}
