import {AsyncLocalStorage} from 'node:async_hooks'
import {endConnector} from '../../sql/connectors.ts'
import type {Tx} from '../../sql/database.ts'
import {
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
import {Refusal} from '../errors.ts'
import type {Client} from './client.ts'
import type {CrmTools} from './crm.ts'
import type {Hosts} from './hosts.ts'
import {openGate} from './lanes.ts'
import {openAccess, openRefresh, resealRefresh, sealAccess} from './sealed.ts'
import {type Renewal, renewToken} from './token.ts'

/** Zoho's throttle: ten access tokens from one refresh token in ten minutes (zoho.com/accounts/protocol/oauth/web-apps/access-token-expiry.html). */
const mints = {limit: 10, windowSeconds: 600}
const renewEarlyMs = 5 * 60_000
/** Below the ten seconds after which Postgres ends an idle transaction, and so a lock whose holder hangs. */
const renewSeconds = 8
const waitSeconds = 12
/** After a renewal that failed while the old token still lived. */
const tryAgainMs = 30_000
/**
 * A renewal holds one connection of the pool while the CRM is asked. One at a time for each data centre: the pool stays everybody
 * else's, and an accounts host that hangs holds up its own connections alone.
 */
const renewalsAtOnce = 1

export type Granted = {connector: string; hosts: Hosts}
export type Grants = {
  /** The connection's access token, renewed when it ends within five minutes. Throws Refusal. */
  token(granted: Granted): Promise<string>
  /** Another one than `dead`, which the CRM would not take. `minted`: asked for just now; otherwise another call or process had left it. */
  replace(granted: Granted, dead: string): Promise<Access>
  /** The next call reads the row again: consent was given anew, or the token does not carry what it should. */
  forget(connector: string): void
}

export type Access = {token: string; minted: boolean}
type Held = Access & {renewAt: number; endsAt: number}
type Tools = CrmTools & {client: Client}

/**
 * Access tokens of every connection, open in this process's memory so that a call costs no query.
 *
 * One renewal is in flight per grant, in all processes: the grant's row is locked while the CRM is asked, for eight seconds at
 * most, and whoever waited reads the row again. A lock rather than a lease column: it ends with the connection of a process that
 * dies, needs no clock, and wakes the waiters. The mint is written by a transaction of its own before the CRM is asked, so that a
 * crash leaves it counted.
 */
export const openGrants = (tools: Tools): Grants => {
  const held = new Map<string, Held>()
  /** Tokens the CRM would not take while renewals were throttled: they are not sent again, and none is asked for until that ends. */
  const dead = new Map<string, string>()
  const renewing = new Map<string, Promise<Held>>()
  const gates = new Map<string, ReturnType<typeof openGate>>()

  const mintUnlessThrottled = async (granted: Granted, refused: string | undefined) => {
    const {connector} = granted
    if (dead.has(connector)) {
      if (refused !== undefined) dead.set(connector, refused)
      const waitSeconds = await readMintWait(tools.db, {connector, ...mints})
      if (waitSeconds > 1) throw throttled(waitSeconds)
    }
    return mint(tools, granted, refused).catch(error => {
      if (refused !== undefined && isThrottled(error)) dead.set(connector, refused)
      throw error
    })
  }

  const renew = async (granted: Granted, refused: string | undefined) => {
    const {connector, hosts} = granted
    const gate = gates.get(hosts.dc) ?? openGate(renewalsAtOnce)
    gates.set(hosts.dc, gate)
    let old: Held | null = null
    try {
      old = readHeld(tools, connector, await findGrant(tools.db, connector), refused)
      const fresh = old && isFresh(old) ? old : await gate(() => mintUnlessThrottled(granted, refused))
      held.set(connector, {...fresh, minted: false})
      dead.delete(connector)
      return fresh
    } catch (error) {
      held.delete(connector)
      if (!old || old.endsAt <= performance.now() || !(error instanceof Refusal) || isEnd(error)) throw error
      tools.log.warn({connector, code: error.code}, 'renewal failed; the old access token still lives')
      held.set(connector, {...old, renewAt: Math.min(old.endsAt, performance.now() + tryAgainMs)})
      return old
    }
  }

  const look = (granted: Granted, refused?: string): Held | Promise<Held> => {
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

/** The token in the row, while it lives: someone else, or an earlier process, asked for it. */
const readHeld = ({config}: Tools, connector: string, grant: GrantRow | null, dead: string | undefined): Held | null => {
  if (!grant) throw unavailable('This connection has no grant: connect it again')
  if (grant.ended) throw ended()
  if (!grant.accessSealed || (grant.accessLeftMs ?? 0) <= 0) return null
  const token = attempt(() => openAccess(config.SECRETS_KEYS, connector, grant.accessSealed!))
  return token === null || token === dead ? null : hold(token, grant.accessLeftMs!)
}

const hold = (token: string, leftMs: number, minted = false): Held => {
  const endsAt = performance.now() + leftMs
  return {token, minted, endsAt, renewAt: endsAt - renewEarlyMs}
}

const isFresh = ({renewAt}: Held) => renewAt > performance.now()

/** Under the grant's lock: what another has just left there, else a token asked of the CRM. An ended grant is committed before it is told. */
const mint = async (tools: Tools, granted: Granted, dead: string | undefined): Promise<Held> => {
  // Slonik lets no other connection be used in a transaction's own async context, which the mint is meant to outlive.
  const outside = AsyncLocalStorage.snapshot()
  const outcome = await tools.db
    .transaction(tx => mintLocked({...tools, outside}, tx, granted, dead), 0)
    .catch(error => {
      if (isLockTimeout(error)) throw unavailable('The access to this connection is being renewed elsewhere and does not come: try again')
      throw error
    })
  if ('token' in outcome) return outcome
  tools.log.warn({connector: granted.connector, refused: outcome.refused, why: outcome.why}, 'renewal refused')
  if (outcome.refused === 'throttled') throw throttled(await readMintWait(tools.db, {connector: granted.connector, ...mints}))
  throw outcome.refused === 'ended' ? ended() : unavailable(outcome.why)
}

const mintLocked = async (
  tools: Tools & {outside: <R>(work: () => R) => R},
  tx: Tx,
  granted: Granted,
  dead: string | undefined,
): Promise<Held | Exclude<Renewal, {token: string}>> => {
  const {config, db} = tools
  const {connector} = granted
  const grant = await lockGrant(tx, {connector, waitSeconds})
  const kept = readHeld(tools, connector, grant, dead)
  if (kept && isFresh(kept)) return kept
  const refreshToken = attempt(() => openRefresh(config.SECRETS_KEYS, connector, grant!.refreshSealed))
  if (refreshToken === null) throw unavailable('The kept access to this connection cannot be opened: its key is not in SECRETS_KEYS')
  const {waitSeconds: throttledFor} = await tools.outside(() => writeMint(db, {connector, ...mints}))
  if (throttledFor !== null) throw throttled(throttledFor)
  const renewal = await renewToken(tools.client, {config, hosts: granted.hosts, refreshToken, timeoutSeconds: renewSeconds})
  if ('token' in renewal) {
    const refreshSealed = resealRefresh(config.SECRETS_KEYS, connector, {sealed: grant!.refreshSealed, token: refreshToken})
    const accessSealed = sealAccess(config.SECRETS_KEYS, connector, renewal.token)
    await keepAccess(tx, {connector, refreshSealed, accessSealed, accessSeconds: renewal.seconds})
    await forgetMints(tx, {connector, windowSeconds: 2 * mints.windowSeconds})
    return hold(renewal.token, renewal.seconds * 1000, true)
  }
  if (renewal.refused === 'ended') {
    await endGrant(tx, connector)
    await endConnector(tx, connector)
  }
  return renewal
}

/** Null for what was sealed under a key that has left the ring, or for another place. */
const attempt = (open: () => string) => {
  try {
    return open()
  } catch {
    return null
  }
}

const throttled = (seconds: number) =>
  new Refusal('CONNECTION_THROTTLED', `The CRM throttles how often access to this connection is renewed: ask again in ${seconds} s`, {
    retryAfterMs: seconds * 1000,
  })

const isThrottled = (error: unknown): error is Refusal => error instanceof Refusal && error.code === 'CONNECTION_THROTTLED'

const ended = () =>
  unavailable('The CRM ended its consent to this connection: an administrator has to connect it again', {connection: 'ended'})

/** After this no token of the grant is used, not even one that would still live. */
const isEnd = ({extra}: Refusal) => extra.connection === 'ended'

const unavailable = (message: string, extra: Record<string, unknown> = {}) => new Refusal('CONNECTION_UNAVAILABLE', message, extra)
