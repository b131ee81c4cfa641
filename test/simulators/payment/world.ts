import {type Clock, createClock, type Instant} from './clock.ts'
import {createFaults, type Faults} from './faults.ts'
import {createKeys, type Keys} from './idempotency.ts'
import {createIds} from './ids.ts'
import {createJournal, type Journal} from './journal.ts'
import {createStore, type Store} from './store.ts'
import {createTraffic, type Traffic} from './traffic.ts'

export type WorldOptions = {
  /** The same seed and the same calls give the same ids. */
  seed?: string
  at?: Instant
  secretKey?: string
  /** What every endpoint's deliveries are signed with, instead of a secret for each. */
  webhookSecret?: string
  settings?: Partial<Settings>
  /** Seconds a delivery is signed with; the stand-in's own clock unless given. The SDK compares with the wall clock. */
  signedAt?: () => number
}

/** What the owner of the account has set in the dashboard, and what is not known for sure of the provider. */
export type Settings = {
  /** Days from one try to the next when a renewal cannot be collected, and what becomes of the subscription after the last. */
  retryAfterDays: number[]
  afterRetries: 'unpaid' | 'cancel' | 'pause' | 'past_due'
  /** Seconds a renewal's invoice stays a draft. */
  draftSeconds: number
  /** Seconds until usage that was reported is counted. */
  meterDelaySeconds: number
  /** Milliseconds of wall time a slow card takes. */
  slowCardMs: number
  /** Calls the key is not permitted, as `METHOD /v1/glob`: a restricted key of the dashboard. */
  forbidden: string[]
}

export const defaultSettings: Settings = {
  retryAfterDays: [3, 5, 7],
  afterRetries: 'unpaid',
  draftSeconds: 3600,
  meterDelaySeconds: 60,
  slowCardMs: 250,
  forbidden: [],
}

/** Everything the stand-in knows. */
export type World = {
  store: Store
  clock: Clock
  newId: (prefix: string) => string
  settings: Settings
  keys: Keys
  faults: Faults
  journal: Journal
  traffic: Traffic
  seed: string
  secretKey: string
  webhookSecret: string | null
  baseUrl: string
  signedAt: () => number
  /** The call being answered: events name it. Null while time passes or the dashboard is used. */
  cause: {id: string; key: string | null} | null
  /** Wall time the answer of this call takes longer, because of a slow card. */
  slowMs: number
}

export const createWorld = ({
  seed = 'lading',
  at = '2026-11-02T09:00:00Z',
  secretKey,
  webhookSecret,
  settings,
  signedAt,
}: WorldOptions = {}): World => {
  const store = createStore()
  const clock = createClock(store, at)
  return {
    store,
    clock,
    newId: createIds(store, seed),
    settings: {...defaultSettings, ...settings},
    keys: createKeys(),
    faults: createFaults(),
    journal: createJournal(),
    traffic: createTraffic(seed),
    seed,
    secretKey: secretKey ?? 'sk_test_stand_in',
    webhookSecret: webhookSecret ?? null,
    baseUrl: '',
    signedAt: signedAt ?? clock.now,
    cause: null,
    slowMs: 0,
  }
}

/** Does it, or leaves no trace of it: the error goes on to whoever asked. */
export const attempt = <T>(world: World, run: () => T): T => {
  const mark = world.store.mark()
  try {
    return run()
  } catch (error) {
    if (!(error instanceof Error && 'keep' in error && error.keep)) world.store.restore(mark)
    throw error
  }
}

/** Looks at what would come of it, and undoes it. */
export const rehearse = <T>(world: World, run: () => T): T => {
  const mark = world.store.mark()
  try {
    return run()
  } finally {
    world.store.restore(mark)
  }
}
