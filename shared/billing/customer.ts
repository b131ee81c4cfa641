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
import type {Config} from '../config.ts'
import {normaliseAddress} from '../people/address.ts'
import {isAtLeast} from '../people/roles.ts'
import {shortHash} from '../short-hash.ts'
import {metadataOf} from './metadata.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

type Tools = {config: Config; db: Pool; payment: PaymentProvider}
type Asking = {org: string; email: string}

/**
 * The org's one customer at the provider, made for the first Checkout and known here before anything is made for it. Its address is that of the
 * admin who asked first, and moves to the one asking when it is no admin's of the org any more.
 */
export const keepPaymentCustomer = async (tools: Tools, {org, email}: Asking): Promise<string> => {
  const {db, payment} = tools
  await keepAccount(db, org)
  const kept = await keepBillingEmail(db, {org, email})
  if (kept.customer === null) return makeCustomer(tools, {org, email: kept.email ?? email, seq: kept.seq})
  if (kept.email === null || (!isSame(kept.email, email) && !(await isOfAdmin(db, {org, email: kept.email})))) {
    const named = await nameOf(db, org)
    // No key: the same address twice is the same address, and one used an hour ago may be moved back to.
    await payment.ask('customer', stripe => stripe.customers.update(kept.customer!, {email, ...named}))
    await setCustomerEmail(db, {org, email})
  }
  return kept.customer
}

/** `name` gives way to what the payer types for the invoice; the description stays. */
const nameOf = async (db: Pool, org: string): Promise<{name?: string; description?: string}> => {
  const name = (await findOrg(db, org))?.name
  return name ? {name, description: name} : {}
}

const isSame = (one: string, other: string) => normaliseAddress(one) === normaliseAddress(other)

const isOfAdmin = async (db: Pool, {org, email}: Asking) =>
  (await listMembers(db, org)).some(member => isAtLeast(member.role, 'admin') && isSame(member.email, email))

const tries = 10
const pauseMs = 300

/**
 * One key and one address, whoever asks: the provider makes one, and of two who ask at the same time the second is told to wait. Of what is sent
 * only the org's name may change between two tries, and it is part of the key. After one that was deleted there the key is another: the old one would bring it back for a
 * day. An address that is refused is nobody else's.
 */
const makeCustomer = async (tools: Tools, {org, email, seq}: Asking & {seq: number}): Promise<string> => {
  const {config, db, payment} = tools
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
