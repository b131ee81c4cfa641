import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})
const Grant = z.object({
  refreshSealed: z.string(),
  accessSealed: z.string().nullable(),
  /** Milliseconds until the access token expires, by the database's clock. Negative after the expiry. */
  accessLeftMs: z.number().nullable(),
  ended: z.boolean(),
})
export type GrantRow = z.output<typeof Grant>

const columns = sql.fragment`refresh_sealed as "refreshSealed", access_sealed as "accessSealed", ended_at is not null as ended,
  (extract(epoch from access_expires_at - lading_now()) * 1000)::float8 as "accessLeftMs"`

type SealedTokens = {connector: string; refreshSealed: string; accessSealed: string; accessSeconds: number}

/**
 * Stores the sealed tokens of a new consent in place of the stored tokens. Deletes the connection's records of minted tokens. `accessSeconds` is
 * the CRM's `expires_in`.
 */
export const keepGrant = (tx: Tx, {connector, refreshSealed, accessSealed, accessSeconds}: SealedTokens) =>
  tx.query(sql.type(Empty)`
    with forgotten as (delete from grant_mints where connector_id = ${connector})
    insert into grants (connector_id, refresh_sealed, access_sealed, access_expires_at)
    values (${connector}, ${refreshSealed}, ${accessSealed}, lading_now() + make_interval(secs => ${accessSeconds}))
    on conflict (connector_id) do update set refresh_sealed = excluded.refresh_sealed, access_sealed = excluded.access_sealed,
      access_expires_at = excluded.access_expires_at, ended_at = null`)

export const findGrant = (db: Db, connector: string) =>
  db.maybeOne(sql.type(Grant)`select ${columns} from grants where connector_id = ${connector}`)

/**
 * Locks the grant until the transaction ends and returns its row. Waits at most `waitSeconds` for a process that renews the grant, then throws.
 * The lock of a dead process is released at once. The lock of a blocked process is released when the server ends its idle transaction.
 */
export const lockGrant = async (tx: Tx, {connector, waitSeconds}: {connector: string; waitSeconds: number}) => {
  await tx.query(sql.type(Empty)`select set_config('lock_timeout', ${`${waitSeconds}s`}, true)`)
  return tx.maybeOne(sql.type(Grant)`select ${columns} from grants where connector_id = ${connector} for update`)
}

/** Whether another process kept the grant locked for the whole wait (SQLSTATE lock_not_available). */
export const isLockTimeout = (error: unknown) => error instanceof Error && 'code' in error && error.code === '55P03'

export const keepAccess = (tx: Tx, {connector, refreshSealed, accessSealed, accessSeconds}: SealedTokens) =>
  tx.query(sql.type(Empty)`
    update grants set refresh_sealed = ${refreshSealed}, access_sealed = ${accessSealed},
      access_expires_at = lading_now() + make_interval(secs => ${accessSeconds})
    where connector_id = ${connector}`)

export const endGrant = (tx: Tx, connector: string) =>
  tx.query(sql.type(Empty)`
    update grants set ended_at = lading_now(), access_sealed = null, access_expires_at = null where connector_id = ${connector}`)

/**
 * Records one minted access token. If `limit` tokens were minted within `windowSeconds`, records nothing and returns the seconds until the
 * oldest leaves the window; otherwise returns null. The lock on the grant makes count and insert atomic.
 */
export const writeMint = (db: Db, {connector, limit, windowSeconds}: {connector: string; limit: number; windowSeconds: number}) =>
  db.one(sql.type(z.object({waitSeconds: z.number().nullable()}))`
    with recent as (
      select minted_at from grant_mints
      where connector_id = ${connector} and minted_at > lading_now() - make_interval(secs => ${windowSeconds})
      order by minted_at desc limit ${limit}
    ), written as (
      insert into grant_mints (connector_id) select ${connector} where (select count(*) from recent) < ${limit}
    )
    select case when count(*) >= ${limit}
      then greatest(1, ceil(extract(epoch from min(minted_at) - lading_now()) + ${windowSeconds}))::float8 end as "waitSeconds"
    from recent`)

/** Deletes the newest record of a minted token. The caller has locked the grant, so this is the record that it wrote. */
export const deleteLastMint = (tx: Tx, connector: string) =>
  tx.query(sql.type(Empty)`
    delete from grant_mints where connector_id = ${connector}
      and minted_at = (select max(minted_at) from grant_mints where connector_id = ${connector})`)

/**
 * Returns the seconds until the oldest of the last `limit` minted tokens is `windowSeconds` old, at least 1. Used when the CRM itself refuses to
 * mint.
 */
export const readMintWait = (db: Db, {connector, limit, windowSeconds}: {connector: string; limit: number; windowSeconds: number}) =>
  db.oneFirst(sql.type(z.object({waitSeconds: z.number()}))`
    select greatest(1, ceil(coalesce(extract(epoch from min(minted_at) - lading_now()) + ${windowSeconds}, 1)))::float8 as "waitSeconds"
    from (select minted_at from grant_mints where connector_id = ${connector} order by minted_at desc limit ${limit}) as last`)

export const forgetMints = (db: Db, {connector, windowSeconds}: {connector: string; windowSeconds: number}) =>
  db.query(sql.type(Empty)`
    delete from grant_mints where connector_id = ${connector} and minted_at < lading_now() - make_interval(secs => ${windowSeconds})`)

/**
 * Deletes the grant and the records of its minted tokens. Waits for a process that renews the grant. Returns the deleted row, or null if there
 * was none.
 */
export const takeGrant = (tx: Tx, connector: string) =>
  tx.maybeOne(sql.type(Grant)`
    with forgotten as (delete from grant_mints where connector_id = ${connector})
    delete from grants where connector_id = ${connector} returning ${columns}`)

/** Stores the permanent secret of a connection that mints no tokens. */
export const keepSecret = (tx: Tx, {connector, refreshSealed}: {connector: string; refreshSealed: string}) =>
  tx.query(sql.type(Empty)`insert into grants (connector_id, refresh_sealed) values (${connector}, ${refreshSealed})`)

/** Lists connections with a token whose sealed text does not begin with `start`, ordered by id. `start` names the current master key. */
export const listSealedElse = (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
  db.anyFirst(sql.type(z.object({connector: z.string()}))`
    select connector_id as connector from grants
    where connector_id > ${after} and not (starts_with(refresh_sealed, ${start}) and starts_with(coalesce(access_sealed, ${start}), ${start}))
    order by connector_id limit ${limit}`)

/** The caller has locked the grant. */
export const keepSealed = (
  tx: Tx,
  {connector, refreshSealed, accessSealed}: {connector: string} & Pick<GrantRow, 'refreshSealed' | 'accessSealed'>,
) =>
  tx.query(sql.type(Empty)`
    update grants set refresh_sealed = ${refreshSealed}, access_sealed = ${accessSealed} where connector_id = ${connector}`)
