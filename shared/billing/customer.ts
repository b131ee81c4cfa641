import {setTimeout} from 'node:timers/promises'
import {
  findBillingAccount,
  forgetBillingEmail,
  keepAccount,
  keepBillingEmail,
  keepCustomer,
  setCustomerEmail,
} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {listMembers} from '../../sql/members.ts'
import {findOrg} from '../../sql/orgs.ts'
import {normaliseAddress} from '../accounts/address.ts'
import {isAtLeast} from '../accounts/roles.ts'
import type {Config} from '../config.ts'
import {shortHash} from '../security/short-hash.ts'
import {metadataOf} from './metadata.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

type CustomerDeps = {config: Config; db: Pool; payment: PaymentProvider}
type CustomerInput = {org: string; email: string}

/**
 * Returns the org's only customer at the provider. The first Checkout creates the customer and stores its id before any other call. The customer's
 * email is that of the admin who created it. If that person is no admin any more, the current admin's email replaces it.
 */
export const keepPaymentCustomer = async (deps: CustomerDeps, {org, email}: CustomerInput): Promise<string> => {
  const {db, payment} = deps
  await keepAccount(db, org)
  const kept = await keepBillingEmail(db, {org, email})
  if (kept.customer === null) return makeCustomer(deps, {org, email: kept.email ?? email, seq: kept.seq})
  if (kept.email === null || (!isSame(kept.email, email) && !(await isOfAdmin(db, {org, email: kept.email})))) {
    const named = await nameOf(db, org)
    // This call has no idempotency key. A repeated update is harmless, and an idempotency key could block a return to the address before.
    await payment.ask('customer', stripe => stripe.customers.update(kept.customer!, {email, ...named}))
    await setCustomerEmail(db, {org, email})
  }
  return kept.customer
}

/** Returns the org's name for the customer. The provider overwrites `name` with the payer's name for the invoice; `description` stays. */
const nameOf = async (db: Pool, org: string): Promise<{name?: string; description?: string}> => {
  const name = (await findOrg(db, org))?.name
  return name ? {name, description: name} : {}
}

const isSame = (one: string, other: string) => normaliseAddress(one) === normaliseAddress(other)

const isOfAdmin = async (db: Pool, {org, email}: CustomerInput) =>
  (await listMembers(db, org)).some(member => isAtLeast(member.role, 'admin') && isSame(member.email, email))

const tries = 10
const pauseMs = 300

/**
 * Creates the customer. Concurrent callers send the same key and address, so the provider creates one customer and the other callers wait. The org's
 * name may change between two tries, so the key contains it. The key also contains `seq`, which changes after the customer was deleted at the
 * provider: the old key would return the deleted one for a day. If the provider refuses the email address, the stored address is cleared.
 */
const makeCustomer = async (deps: CustomerDeps, {org, email, seq}: CustomerInput & {seq: number}): Promise<string> => {
  const {config, db, payment} = deps
  const metadata = metadataOf(config, {org, kind: 'customer'})
  const named = await nameOf(db, org)
  const idempotencyKey = `cus:${org}:${seq}:${shortHash(JSON.stringify(named)).toString('hex')}`
  for (let left = tries; ; left--) {
    try {
      const {id} = await payment.ask('customer', stripe => stripe.customers.create({email, ...named, metadata}, {idempotencyKey}))
      return await keepCustomer(db, {org, customer: id, email})
    } catch (error) {
      const made = (await findBillingAccount(db, org))?.customer
      if (made) return made
      if (error instanceof PaymentFailure && error.kind === 'refused') await forgetBillingEmail(db, org)
      if (!(error instanceof PaymentFailure && error.kind === 'busy') || left === 1) throw error
      await setTimeout(pauseMs)
    }
  }
}
