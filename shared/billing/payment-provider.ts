import type {Stripe} from 'stripe'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {failureOf, PaymentFailure, wrongAnswer} from './payment-failure.ts'

/** The only access to the payment provider. This module decides nothing: each billing module chooses its calls and interprets the answers. */
export type PaymentProvider = {
  /** Whether a key is configured. Without one, every call throws NOT_CONFIGURED and sends nothing. */
  isConfigured: boolean
  /**
   * Sends one call. Returns or throws within 45 seconds. The SDK sends the call at most twice, under one idempotency key. `object`: the
   * expected type of the answer, in the provider's terms. Throws a PaymentFailure, or the Refusal NOT_CONFIGURED.
   */
  ask<T extends {object: string}>(object: T['object'], call: (stripe: Stripe) => Promise<T>): Promise<T>
  /**
   * Returns the event if one of our webhook secrets signed these bytes within the last five minutes. Throws the Refusal SIGNATURE_INVALID if none
   * did.
   */
  readEvent(raw: Buffer, signature: string | string[] | undefined): Promise<Stripe.Event>
}

type Settings = Pick<Config, 'PAYMENT_API_KEY' | 'PAYMENT_API_URL' | 'PAYMENT_WEBHOOK_SECRETS'>

/** The time-out of one try, in ms. Two tries and their pause take less time than a step may hold the billing lock. */
const timeoutMs = 20_000
/**
 * The longest time of a call, in ms. The SDK's time-out restarts with every byte, so an answer that arrives byte by byte would never time
 * out.
 */
const longestMs = 45_000
const toleranceSeconds = 300

export const openPaymentProvider = (settings: Settings, mostMs = longestMs): PaymentProvider => {
  const connect = connector(settings)
  return {
    isConfigured: settings.PAYMENT_API_KEY !== undefined,
    async ask(object, call) {
      const stripe = await connect()
      const answer = await endWithin(mostMs, call(stripe)).catch(async error => {
        throw await failureOf(error)
      })
      // The SDK resolves a body without `error` regardless of its status, so a gateway's 502 in JSON would look like a success.
      if (answer?.object !== object) throw wrongAnswer(object)
      return answer
    },
    async readEvent(raw, signature) {
      const {webhooks} = await connect()
      if (typeof signature !== 'string') throw notSigned()
      for (const secret of settings.PAYMENT_WEBHOOK_SECRETS) {
        const event = await webhooks.constructEventAsync(raw, signature, secret, toleranceSeconds).catch(() => null)
        if (event !== null) return event
      }
      throw notSigned()
    },
  }
}

const endWithin = async <T>(ms: number, call: Promise<T>): Promise<T> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new PaymentFailure('The answer took too long', {kind: 'unavailable'})), ms)
  return Promise.race([call, late.promise]).finally(() => clearTimeout(timer))
}

/** Loads the SDK at the first call, because the package is large and most processes never use it. */
const connector = ({PAYMENT_API_KEY: key, PAYMENT_API_URL: url}: Settings): (() => Promise<Stripe>) => {
  let opening: Promise<Stripe> | null = null
  return async () => {
    if (key === undefined)
      throw new Refusal(
        'NOT_CONFIGURED',
        'This deployment sells nothing. Ask the operator to set PAYMENT_API_KEY and PAYMENT_WEBHOOK_SECRETS',
      )
    opening ??= open(key, url)
    return opening
  }
}

const open = async (key: string, url: string | undefined): Promise<Stripe> => {
  const {Stripe} = await import('stripe')
  return new Stripe(key, {timeout: timeoutMs, maxNetworkRetries: 1, telemetry: false, ...(url && placeOf(url))})
}

const placeOf = (text: string) => {
  const url = new URL(text)
  const protocol = url.protocol === 'https:' ? ('https' as const) : ('http' as const)
  return {protocol, host: url.hostname, port: url.port || (protocol === 'https' ? 443 : 80)}
}

const notSigned = () =>
  new Refusal(
    'SIGNATURE_INVALID',
    'The signature is missing, invalid or older than five minutes. Check the signing secret of the webhook endpoint',
  )
