import {WEBHOOK_SECRET} from './billing.ts'
import {sign} from './simulators/payment/deliveries.ts'
import type {World} from './world.ts'

const now = () => Math.floor(Date.now() / 1000)

/** An event as the provider would send it, without a provider. */
export const makeEvent = (id: string, type: string, object: object, more: object = {}): string =>
  JSON.stringify({
    ...{id, object: 'event', api_version: '2026-10-28.endive', created: now(), type, livemode: false, pending_webhooks: 1},
    ...{request: {id: null, idempotency_key: null}, data: {object}, ...more},
  })

export const signed = (body: string, {secret = WEBHOOK_SECRET, at = now()} = {}): string => sign(body, secret, at)

/** Sends an event to the webhook as the provider does; answers status and code. */
export const tell = async (
  {url}: Pick<World, 'url'>,
  body: string,
  signature: string | null = signed(body),
  headers: Record<string, string> = {},
) => {
  const response = await fetch(`${url}/billing/webhook`, {
    method: 'POST',
    body,
    headers: {'content-type': 'application/json; charset=utf-8', ...(signature !== null && {'stripe-signature': signature}), ...headers},
  })
  const text = await response.text()
  return {status: response.status, code: JSON.parse(text).code as string | undefined, text}
}
