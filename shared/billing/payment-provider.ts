import type {Stripe} from 'stripe'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {failureOf, PaymentFailure, wrongAnswer} from './payment-failure.ts'

/**
 * The door to the payment provider, and the only one. Nothing here decides anything: what is asked, and what an answer means, stands with the
 * noun it is about.
 */
export type PaymentProvider = {
  /** Whether there is a key: without one every call is refused with NOT_CONFIGURED, and nothing is sent. */
  isConfigured: boolean
  /**
   * One call, answered within 45 seconds: the SDK tries twice, under one idempotency key. `object` is what has to come back, by the provider's own
   * word for it. Throws a PaymentFailure, or the Refusal NOT_CONFIGURED.
   */
  ask<T extends {object: string}>(object: T['object'], call: (stripe: Stripe) => Promise<T>): Promise<T>
  /** An event, if somebody who has one of our secrets signed these bytes within the last five minutes; else the Refusal SIGNATURE_INVALID. */
  readEvent(raw: Buffer, signature: string | string[] | undefined): Promise<Stripe.Event>
}

type Settings = Pick<Config, 'PAYMENT_API_KEY' | 'PAYMENT_API_URL' | 'PAYMENT_WEBHOOK_SECRETS'>

/** Two tries of this, and the pause between them, stay below the time an org is held for. */
const timeoutMs = 20_000
/** The SDK counts silence alone: what comes a byte at a time would never end. */
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
      // A body without `error` resolves whatever its status is: a gateway's 502 in JSON would pass for success.
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
  const timer = setTimeout(() => late.reject(new PaymentFailure('The answer takes too long', {kind: 'unavailable'})), ms)
  return Promise.race([call, late.promise]).finally(() => clearTimeout(timer))
}

/** The package is large, and most processes never call: it is loaded with the first call. */
const connector = ({PAYMENT_API_KEY: key, PAYMENT_API_URL: url}: Settings): (() => Promise<Stripe>) => {
  let opening: Promise<Stripe> | null = null
  return async () => {
    if (key === undefined)
      throw new Refusal(
        'NOT_CONFIGURED',
        'This deployment sells nothing: its operator sets PAYMENT_API_KEY and PAYMENT_WEBHOOK_SECRETS to change that',
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
  new Refusal('SIGNATURE_INVALID', 'This is not signed with a secret of ours, or was signed more than five minutes ago')
