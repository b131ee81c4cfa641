import {type Clock, createClock, type Instant} from './clock.ts'
import {createFaults, type Faults} from './faults.ts'
import {createKeys, type Keys} from './idempotency.ts'
import {createIds} from './ids.ts'
import {createJournal, type Journal} from './journal.ts'
import {createStore, type Store} from './store.ts'
import {createTraffic, type Traffic} from './traffic.ts'

export type SimulatorStateOptions = {
  /** Equal seeds and calls give equal ids. */
  seed?: string
  at?: Instant
  secretKey?: string
  /** The signing secret of all endpoints, instead of one for each. */
  webhookSecret?: string
  settings?: Partial<Settings>
  /** The time in delivery signatures in seconds; by default that of the stand-in. The SDK compares it with the wall clock. */
  signedAt?: () => number
}

/** Account settings of the dashboard, and unverified behaviour of the provider. */
export type Settings = {
  /** Days between attempts to collect a renewal, and the action for the subscription after the last. */
  retryAfterDays: number[]
  afterRetries: 'unpaid' | 'cancel' | 'pause' | 'past_due'
  /** Seconds for which a renewal invoice stays a draft. */
  draftSeconds: number
  /** Seconds until reported usage is counted. */
  meterDelaySeconds: number
  /** Milliseconds of real time that a slow card takes. */
  slowCardMs: number
  /** Calls forbidden for the key, as `METHOD /v1/glob`: a restricted key of the dashboard. */
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

export type SimulatorState = {
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
  /** The call in progress, which events name. Null while time passes or for dashboard changes. */
  cause: {id: string; key: string | null} | null
  /** The additional real time of this call, caused by a slow card. */
  slowMs: number
}

export const createSimulatorState = ({
  seed = 'lading',
  at = '2026-11-02T09:00:00Z',
  secretKey,
  webhookSecret,
  settings,
  signedAt,
}: SimulatorStateOptions = {}): SimulatorState => {
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

/** Executes a function atomically: on an error all its changes are undone. */
export const attempt = <T>(world: SimulatorState, run: () => T): T => {
  const mark = world.store.mark()
  try {
    return run()
  } catch (error) {
    if (!(error instanceof Error && 'keep' in error && error.keep)) world.store.restore(mark)
    throw error
  }
}

/** Executes a function and undoes its changes. */
export const runAndRollBack = <T>(world: SimulatorState, run: () => T): T => {
  const mark = world.store.mark()
  try {
    return run()
  } finally {
    world.store.restore(mark)
  }
}
