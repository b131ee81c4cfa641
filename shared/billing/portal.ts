import type {Stripe} from 'stripe'
import {z} from 'zod'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {findOrg} from '../../sql/orgs.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../telemetry/log.ts'
import {assertSells, sandboxRefused} from './offer.ts'
import {refuseFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {readReturnUrl} from './return-url.ts'

type PortalDeps = {config: Config; db: Pool; payment: PaymentProvider; log: Log}

export const PortalBody = z.strictObject({
  returnUrl: z
    .string()
    .nullish()
    .describe('Where the browser goes afterwards. The URL must have an origin of `RETURN_ORIGINS` or `PUBLIC_URL`'),
})

/**
 * Opens the provider's portal, where an admin of the org changes the card, reads invoices and cancels. The resulting changes arrive as
 * events.
 */
export const openPortal = async (deps: PortalDeps, org: string, {returnUrl}: z.output<typeof PortalBody>): Promise<{url: string}> => {
  const {config, db, payment, log} = deps
  if ((await findOrg(db, org))?.sandbox) throw sandboxRefused()
  const back = readReturnUrl(config, returnUrl, '/')
  assertSells(payment)
  const customer = (await findBillingAccount(db, org))?.customer
  if (!customer)
    throw new Refusal('NO_PAYMENT_CUSTOMER', 'This org has bought nothing yet. Buy a plan or credits by POST /billing/checkout first')
  const {PAYMENT_PORTAL_CONFIGURATION: configuration} = config
  const asked = {customer, return_url: back, expand: ['configuration'], ...(configuration && {configuration})}
  const session = await payment
    .ask('billing_portal.session', stripe => stripe.billingPortal.sessions.create(asked))
    .catch(refuseFailure(log, `a portal of ${org}`))
  warnOfPlanChanges(log, session.configuration)
  return {url: session.url}
}

/** Logs an error if the portal allows plan changes. Such changes bypass previews and pending changes, so the operator must disable them. */
const warnOfPlanChanges = (log: Log, configuration: string | Stripe.BillingPortal.Configuration) => {
  if (typeof configuration === 'object' && configuration.features.subscription_update.enabled)
    log.error({configuration: configuration.id}, 'the portal lets customers change plans; disable subscription_update at the provider')
}
