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
 * Returns the id of the org's only customer at the provider. The first call creates the customer and stores the id. The customer has the email of the
 * admin who created it. If that person is not an admin any more, the customer gets the caller's email.
 */
export const keepPaymentCustomer = async (deps: CustomerDeps, {org, email}: CustomerInput): Promise<string> => {
  const {db, payment} = deps
  await keepAccount(db, org)
  const kept = await keepBillingEmail(db, {org, email})
  if (kept.customer === null) return makeCustomer(deps, {org, email: kept.email ?? email, seq: kept.seq})
  if (kept.email === null || (!isSame(kept.email, email) && !(await isOfAdmin(db, {org, email: kept.email})))) {
    const named = await nameOf(db, org)
    // The call has no idempotency key, because a repeated update is harmless and a key could prevent a return to an earlier address.
    await payment.ask('customer', stripe => stripe.customers.update(kept.customer!, {email, ...named}))
    await setCustomerEmail(db, {org, email})
  }
  return kept.customer
}

/**
 * Returns the org's name in two fields of the customer. The provider overwrites `name` with the payer's name for the invoice; `description`
 * stays.
 */
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
 * Creates the customer. Concurrent callers send the same idempotency key and address, so the provider creates one customer and the other callers
 * wait. The key contains the org's name, which may change between two tries. The key also contains `seq`, which changes when the customer is deleted
 * at the provider, because the provider remembers a key for a day. If the provider refuses the call, the stored address is cleared, because the
 * address may be the reason.
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
