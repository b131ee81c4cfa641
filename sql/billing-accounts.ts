import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Account = z.object({
  org: z.string(),
  customer: z.string().nullable(),
  email: z.string().nullable(),
  heldBy: z.string().nullable(),
  isHeld: z.boolean(),
  checkoutSeq: z.number(),
  planCheckout: z.string().nullable(),
  topupEnabled: z.boolean(),
  topupPack: z.string().nullable(),
  topupThreshold: z.number().nullable(),
  topupMonthlyCap: z.number().nullable(),
  topupStopped: z.string().nullable(),
})
export type BillingAccount = z.output<typeof Account>

const account = sql.fragment`org_id as org, customer_id as customer, customer_email as email, held_by as "heldBy",
  coalesce(held_until > lading_now(), false) as "isHeld", checkout_seq as "checkoutSeq", plan_checkout as "planCheckout",
  topup_enabled as "topupEnabled", topup_pack as "topupPack", topup_threshold as "topupThreshold", topup_monthly_cap as "topupMonthlyCap",
  topup_stopped as "topupStopped"`

export const keepAccount = (db: Db, org: string) =>
  db.query(sql.type(Empty)`insert into billing_accounts (org_id) values (${org}) on conflict do nothing`)

/** Returns null if the org never used billing. */
export const findBillingAccount = (db: Db, org: string) =>
  db.maybeOne(sql.type(Account)`select ${account} from billing_accounts where org_id = ${org}`)

export const lockBillingAccount = (tx: Tx, org: string) =>
  tx.maybeOne(sql.type(Account)`select ${account} from billing_accounts where org_id = ${org} for no key update`)

export const findOrgOfCustomer = (db: Db, customer: string) =>
  db.maybeOneFirst(sql.type(z.object({org: z.string()}))`select org_id as org from billing_accounts where customer_id = ${customer}`)

/** Takes the org's billing lock for `seconds`. Returns false if the lock is taken, even by this holder, or if the org has no account. */
export const takeHold = async (db: Db, {org, holder, seconds}: {org: string; holder: string; seconds: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    update billing_accounts set held_by = ${holder}, held_until = lading_now() + make_interval(secs => ${seconds})
    where org_id = ${org} and (held_until is null or held_until <= lading_now())`)
  return rowCount === 1
}

/** Renews a billing lock that has not expired. Returns false if this holder no longer has it. */
export const renewHold = async (db: Db, {org, holder, seconds}: {org: string; holder: string; seconds: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    update billing_accounts set held_until = lading_now() + make_interval(secs => ${seconds})
    where org_id = ${org} and held_by = ${holder} and held_until > lading_now()`)
  return rowCount === 1
}

/** Locks the account's row if this holder has the billing lock. Returns false otherwise. */
export const lockHold = (tx: Tx, {org, holder}: {org: string; holder: string}) =>
  tx.exists(sql.type(Empty)`
    select from billing_accounts where org_id = ${org} and held_by = ${holder} and held_until > lading_now() for no key update`)

/** Releases the billing lock. Returns false if this holder no longer had it. */
export const dropHold = async (tx: Tx, {org, holder}: {org: string; holder: string}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update billing_accounts set held_by = null, held_until = null where org_id = ${org} and held_by = ${holder}`)
  return rowCount === 1
}

/** Stores the org's customer id and e-mail address, but keeps values that are already stored. Returns the stored id. */
export const keepCustomer = (db: Db, {org, customer, email}: {org: string; customer: string; email: string}) =>
  db.oneFirst(sql.type(z.object({customer: z.string()}))`
    update billing_accounts set customer_id = coalesce(customer_id, ${customer}), customer_email = coalesce(customer_email, ${email})
    where org_id = ${org} returning customer_id as customer`)

/**
 * Stores the e-mail address for the customer to be created, unless an address is stored or the customer exists. The returned `email` is null if
 * the customer exists and the person with the stored address was erased.
 */
export const keepBillingEmail = (db: Db, {org, email}: {org: string; email: string}) =>
  db.one(sql.type(z.object({customer: z.string().nullable(), email: z.string().nullable(), seq: z.number()}))`
    update billing_accounts set customer_email = case when customer_id is null then coalesce(customer_email, ${email}) else customer_email end
    where org_id = ${org}
    returning customer_id as customer, customer_email as email, checkout_seq as seq`)

export const forgetBillingEmail = (db: Db, org: string) =>
  db.query(sql.type(Empty)`update billing_accounts set customer_email = null where org_id = ${org} and customer_id is null`)

/** Removes the e-mail address of an erased person. `address` is in lower case. */
export const forgetPayer = (tx: Tx, address: string) =>
  tx.query(sql.type(Empty)`update billing_accounts set customer_email = null where lower(customer_email) = ${address}`)

export const setCustomerEmail = (db: Db, {org, email}: {org: string; email: string}) =>
  db.query(sql.type(Empty)`update billing_accounts set customer_email = ${email} where org_id = ${org}`)

/**
 * Removes the org's customer, because the provider has deleted the customer with its Checkout pages. Raises the Checkout number, so that no
 * request for the deleted customer is repeated.
 */
export const dropCustomer = (tx: Tx, org: string) =>
  tx.query(sql.type(Empty)`
    update billing_accounts set customer_id = null, customer_email = null, plan_checkout = null, checkout_seq = checkout_seq + 1
    where org_id = ${org}`)
