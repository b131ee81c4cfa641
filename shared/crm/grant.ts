import {AsyncLocalStorage} from 'node:async_hooks'
import {endConnector} from '../../sql/connectors.ts'
import type {Tx} from '../../sql/database.ts'
import {
  deleteLastMint,
  endGrant,
  findGrant,
  forgetMints,
  type GrantRow,
  isLockTimeout,
  keepAccess,
  lockGrant,
  readMintWait,
  writeMint,
} from '../../sql/grants.ts'
import {openLimiter} from '../concurrency/limiter.ts'
import {Refusal} from '../errors.ts'
import type {Client} from './client.ts'
import type {CrmDeps} from './crm.ts'
import type {Hosts} from './hosts.ts'
import {findClient} from './oauth-client.ts'
import {openAccess, openRefresh, resealRefresh, sealAccess} from './sealed.ts'
import {type Renewal, renewToken} from './token.ts'

/**
 * Zoho issues at most ten access tokens from one refresh token in ten minutes (zoho.com/accounts/protocol/oauth/web-apps/access-token-expiry.html).
 */
const mints = {limit: 10, windowSeconds: 600}
const renewEarlyMs = 5 * 60_000
/** The time-out of a renewal. After ten seconds, Postgres would end the idle transaction and free its row lock. */
const renewSeconds = 8
const waitSeconds = 12
/** The wait after a renewal that failed while the old token was still valid. */
const tryAgainMs = 30_000
/**
 * The maximum number of renewals in flight per data centre. Each renewal occupies a connection of the database pool while it calls the CRM. With only
 * one, a hanging accounts host neither exhausts the pool nor delays other data centres.
 */
const renewalsAtOnce = 1

export type GrantHolder = {connector: string; hosts: Hosts}
export type Grants = {
  /** Returns the connection's access token, renewed if it expires within five minutes. Throws Refusal. */
  token(granted: GrantHolder): Promise<string>
  /**
   * Returns a token other than `dead`, which the CRM refused. `minted`: true if the CRM has just issued the token, false if another call or process
   * stored it.
   */
  replace(granted: GrantHolder, dead: string): Promise<AccessToken>
  /** Drops the cached token, so that the next call reads the row again. Call this after a new consent, or if the token lacks a scope. */
  forget(connector: string): void
}

export type AccessToken = {token: string; minted: boolean}
type CachedAccess = AccessToken & {renewAt: number; endsAt: number}
type GrantDeps = CrmDeps & {client: Client}

/**
 * Caches access tokens in this process, so that most calls need no query. Across all processes, each grant has at most one renewal in flight, because
 * its row is locked during the call to the CRM. Unlike a lease column, the row lock ends with a process that dies, needs no clock, and wakes the
 * waiters. A separate transaction counts the renewal before the call, so that a crash leaves it counted. A renewal that certainly issued no token
 * is not counted.
 */
export const openGrants = (deps: GrantDeps): Grants => {
  const held = new Map<string, CachedAccess>()
  /**
   * By connection: the token that the CRM refused while renewals were throttled. Until the throttle ends, calls fail instead of sending or renewing
   * this token.
   */
  const dead = new Map<string, string>()
  const renewing = new Map<string, Promise<CachedAccess>>()
  const gates = new Map<string, ReturnType<typeof openLimiter>>()

  const mintUnlessThrottled = async (granted: GrantHolder, refused: string | undefined) => {
    const {connector} = granted
    if (dead.has(connector)) {
      if (refused !== undefined) dead.set(connector, refused)
      const waitSeconds = await readMintWait(deps.db, {connector, ...mints})
      if (waitSeconds > 1) throw throttled(waitSeconds)
    }
    return mintToken(deps, granted, refused).catch(error => {
      if (refused !== undefined && isThrottled(error)) dead.set(connector, refused)
      throw error
    })
  }

  const renew = async (granted: GrantHolder, refused: string | undefined) => {
    const {connector, hosts} = granted
    const gate = gates.get(hosts.dc) ?? openLimiter(renewalsAtOnce)
    gates.set(hosts.dc, gate)
    let old: CachedAccess | null = null
    try {
      old = readCachedAccess(deps, connector, await findGrant(deps.db, connector), refused)
      const fresh = old && isFresh(old) ? old : await gate(() => mintUnlessThrottled(granted, refused))
      held.set(connector, {...fresh, minted: false})
      dead.delete(connector)
      return fresh
    } catch (error) {
      held.delete(connector)
      if (!old || old.endsAt <= performance.now() || !(error instanceof Refusal) || isEnd(error)) throw error
      deps.log.warn({connector, code: error.code}, 'token renewal failed; the old access token is still valid')
      held.set(connector, {...old, renewAt: Math.min(old.endsAt, performance.now() + tryAgainMs)})
      return old
    }
  }

  const look = (granted: GrantHolder, refused?: string): CachedAccess | Promise<CachedAccess> => {
    const kept = held.get(granted.connector)
    if (kept && kept.token !== refused && isFresh(kept)) return kept
    const key = `${granted.connector} ${refused ?? ''}`
    const flight = renewing.get(key) ?? renew(granted, refused).finally(() => renewing.delete(key))
    renewing.set(key, flight)
    return flight
  }
  return {
    forget: connector => held.delete(connector),
    token: async granted => (await look(granted, dead.get(granted.connector))).token,
    replace: async (granted, refused) => look(granted, refused),
  }
}

/**
 * Returns the stored token. Null if no token is stored, or if it has expired, cannot be decrypted, or equals `dead`. Throws if the connection has no
 * grant or the grant has ended.
 */
const readCachedAccess = (
  {config}: GrantDeps,
  connector: string,
  grant: GrantRow | null,
  dead: string | undefined,
): CachedAccess | null => {
  if (!grant) throw unavailable('This connection has no grant. Connect it again')
  if (grant.ended) throw ended()
  if (!grant.accessSealed || (grant.accessLeftMs ?? 0) <= 0) return null
  const token = attempt(() => openAccess(config.SECRETS_KEYS, connector, grant.accessSealed!))
  return token === null || token === dead ? null : cacheAccess(token, grant.accessLeftMs!)
}

const cacheAccess = (token: string, leftMs: number, minted = false): CachedAccess => {
  const endsAt = performance.now() + leftMs
  return {token, minted, endsAt, renewAt: endsAt - renewEarlyMs}
}

const isFresh = ({renewAt}: CachedAccess) => renewAt > performance.now()

/**
 * Locks the grant, then returns a token that another process has just stored, or requests one from the CRM. If the CRM ended the grant, the end is
 * committed before the Refusal is thrown.
 */
const mintToken = async (deps: GrantDeps, granted: GrantHolder, dead: string | undefined): Promise<CachedAccess> => {
  // The count of renewals must survive a rollback of this transaction. Slonik allows another connection only outside its async context.
  const outside = AsyncLocalStorage.snapshot()
  const outcome = await deps.db
    .transaction(tx => mintUnderLock({...deps, outside}, tx, granted, dead), 0)
    .catch(error => {
      if (isLockTimeout(error)) throw unavailable('Another process is still renewing the access to this connection. Try again')
      throw error
    })
  if ('token' in outcome) return outcome
  deps.log.warn({connector: granted.connector, refused: outcome.refused, why: outcome.why}, 'token renewal refused')
  if (outcome.refused === 'throttled') throw throttled(await readMintWait(deps.db, {connector: granted.connector, ...mints}))
  throw outcome.refused === 'ended' ? ended() : unavailable(outcome.why)
}

const mintUnderLock = async (
  deps: GrantDeps & {outside: <R>(work: () => R) => R},
  tx: Tx,
  granted: GrantHolder,
  dead: string | undefined,
): Promise<CachedAccess | Exclude<Renewal, {token: string}>> => {
  const {config, db} = deps
  const {connector} = granted
  const grant = await lockGrant(tx, {connector, waitSeconds})
  const kept = readCachedAccess(deps, connector, grant, dead)
  if (kept && isFresh(kept)) return kept
  const refreshToken = attempt(() => openRefresh(config.SECRETS_KEYS, connector, grant!.refreshSealed))
  if (refreshToken === null)
    throw unavailable(
      'The stored access of this connection cannot be decrypted: its key is not in SECRETS_KEYS. Ask the operator to restore the key',
    )
  const {dc} = granted.hosts
  const own = findClient(config, dc)
  if (!own) throw unavailable(`No OAuth client is configured for the data centre ${dc}. Add one to CRM_CLIENTS`)
  const {waitSeconds: throttledFor} = await deps.outside(() => writeMint(db, {connector, ...mints}))
  if (throttledFor !== null) throw throttled(throttledFor)
  const renewal = await renewToken(deps.client, {
    own,
    hosts: granted.hosts,
    refreshToken,
    timeoutSeconds: renewSeconds,
  })
  if ('token' in renewal) {
    const refreshSealed = resealRefresh(config.SECRETS_KEYS, connector, {sealed: grant!.refreshSealed, token: refreshToken})
    const accessSealed = sealAccess(config.SECRETS_KEYS, connector, renewal.token)
    await keepAccess(tx, {connector, refreshSealed, accessSealed, accessSeconds: renewal.seconds})
    await forgetMints(tx, {connector, windowSeconds: 2 * mints.windowSeconds})
    return cacheAccess(renewal.token, renewal.seconds * 1000, true)
  }
  if (!renewal.isCounted) await deleteLastMint(tx, connector)
  if (renewal.refused === 'ended') {
    await endGrant(tx, connector)
    await endConnector(tx, connector)
  }
  return renewal
}

/** Returns null if the value was sealed for another connection, or with a key that is no longer in SECRETS_KEYS. */
const attempt = (open: () => string) => {
  try {
    return open()
  } catch {
    return null
  }
}

const throttled = (seconds: number) =>
  new Refusal('CONNECTION_THROTTLED', `The CRM limits how often the access to this connection is renewed. Try again in ${seconds} s`, {
    retryAfterMs: seconds * 1000,
  })

const isThrottled = (error: unknown): error is Refusal => error instanceof Refusal && error.code === 'CONNECTION_THROTTLED'

const ended = () =>
  unavailable('The CRM ended the consent of this connection. An administrator must connect it again', {connection: 'ended'})

/** After the end of a grant, even a valid access token is not used. */
const isEnd = ({extra}: Refusal) => extra.connection === 'ended'

const unavailable = (message: string, extra: Record<string, unknown> = {}) => new Refusal('CONNECTION_UNAVAILABLE', message, extra)
