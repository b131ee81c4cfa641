import {findUnknownPooler} from '../sql/pooler.ts'
import {isLiveKey} from './billing/key-mode.ts'
import type {ParsedEnvironment} from './config.ts'
import {assertHttps, assertKeysAreSafe} from './security/key-safety.ts'

const refuseUnknownPooler = ({DATABASE_URL = ''}: ParsedEnvironment) => {
  const mode = findUnknownPooler(DATABASE_URL)
  if (mode !== null)
    throw new Error(
      `Configuration: DATABASE_URL has pooler=${mode}. Write pooler=transaction for a pooler in transaction mode, or remove it`,
    )
}

const requireSender = ({SMTP_URL, MAIL_FROM}: ParsedEnvironment) => {
  if (SMTP_URL && !MAIL_FROM)
    throw new Error('Configuration: SMTP_URL is set, so MAIL_FROM is needed too, e.g. Lading <notices@example.com>')
}

const requireWebhookSecrets = ({PAYMENT_API_KEY, PAYMENT_WEBHOOK_SECRETS}: ParsedEnvironment) => {
  if (PAYMENT_API_KEY && PAYMENT_WEBHOOK_SECRETS.length === 0)
    throw new Error(
      'Configuration: PAYMENT_API_KEY is set, so PAYMENT_WEBHOOK_SECRETS is needed too, because payments take effect by webhooks',
    )
}

/**
 * Refuses a paid DEFAULT_PLAN with a live key, unless it is confirmed. Such a deployment sells plans, so giving a plan to every new org is
 * probably a mistake.
 */
const refusePaidDefaultPlan = ({PAYMENT_API_KEY, DEFAULT_PLAN, DEFAULT_PLAN_CONFIRMED}: ParsedEnvironment) => {
  if (!isLiveKey(PAYMENT_API_KEY) || DEFAULT_PLAN === 'free' || DEFAULT_PLAN_CONFIRMED) return
  throw new Error(
    `Configuration: PAYMENT_API_KEY is a live key, and DEFAULT_PLAN=${DEFAULT_PLAN} gives every new org a paid plan. Set DEFAULT_PLAN=free, or DEFAULT_PLAN_CONFIRMED=1 if that is meant`,
  )
}

const MODEL = ['MODEL_KIND', 'MODEL_URL', 'MODEL_API_KEY', 'MODEL_NAME'] as const

const refuseIncompleteModel = (config: ParsedEnvironment) => {
  const missing = MODEL.filter(name => config[name] === undefined)
  if (missing.length > 0 && missing.length < MODEL.length)
    throw new Error(`Configuration: a model needs all of ${MODEL.join(', ')}. Set ${missing.join(', ')}`)
}

const refuseStandIn = ({NODE_ENV, CRM_STANDIN_URL}: ParsedEnvironment) => {
  if (NODE_ENV === 'production' && CRM_STANDIN_URL) throw new Error('Production does not use the CRM stand-in. Unset CRM_STANDIN_URL.')
}

const refuseForeignProvider = ({NODE_ENV, PAYMENT_API_URL, PAYMENT_API_KEY}: ParsedEnvironment) => {
  if (NODE_ENV === 'production' && PAYMENT_API_URL && !PAYMENT_API_KEY?.startsWith('sk_test_'))
    throw new Error('Production sends a live key only to the payment provider itself. Unset PAYMENT_API_URL.')
}

/** Checks of the parsed variables. `assert` throws what is wrong and what to do. `names`: the variables that this error can name. */
export const rules: {names: string[]; assert(config: ParsedEnvironment): void}[] = [
  {names: ['DATABASE_URL'], assert: refuseUnknownPooler},
  {names: ['SMTP_URL', 'MAIL_FROM'], assert: requireSender},
  {names: ['PAYMENT_API_KEY', 'PAYMENT_WEBHOOK_SECRETS'], assert: requireWebhookSecrets},
  {names: [...MODEL], assert: refuseIncompleteModel},
  {names: ['DEFAULT_PLAN'], assert: refusePaidDefaultPlan},
  {names: ['SECRETS_KEYS', 'SESSION_KEYS', 'CRM_CLIENT_SECRET'], assert: assertKeysAreSafe},
  {names: ['PUBLIC_URL'], assert: assertHttps},
  {names: ['CRM_STANDIN_URL'], assert: refuseStandIn},
  {names: ['PAYMENT_API_URL'], assert: refuseForeignProvider},
]
