import {createClock, type Instant} from './clock.ts'
import {createFaults, createTraffic} from './faults.ts'
import {createIds, createStore, type Thing} from './store.ts'
import {type Answer, Refusal} from './wire.ts'

export type SimulatorStateOptions = {
  /** The seed of ids: equal seeds and calls give equal ids. */
  seed?: string
  at?: Instant
  secretKey?: string
  /** The signing secret of all endpoints. By default, each endpoint has its own. */
  webhookSecret?: string
  settings?: Partial<Settings>
  /** The time in delivery signatures, in seconds; by default the time of the stand-in. The SDK compares it with the real time. */
  signedAt?: () => number
}

/** Settings of the account in the dashboard, and behaviour of the provider that is unverified. */
export type Settings = {
  /** The days between attempts to collect an invoice. */
  retryAfterDays: number[]
  /** What happens to the subscription after the last attempt. */
  afterRetries: 'unpaid' | 'cancel' | 'pause' | 'past_due'
  /** Seconds for which a renewal invoice stays a draft. */
  draftSeconds: number
  /** Seconds until reported usage is counted. */
  meterDelaySeconds: number
  /** The real time in ms that a slow card takes. */
  slowCardMs: number
  /** The calls that the key may not make, as `METHOD /v1/glob`. The dashboard calls it a restricted key. */
  forbidden: string[]
}

const defaultSettings: Settings = {
  retryAfterDays: [3, 5, 7],
  afterRetries: 'unpaid',
  draftSeconds: 3600,
  meterDelaySeconds: 60,
  slowCardMs: 250,
  forbidden: [],
}

export type SimulatorState = ReturnType<typeof createSimulatorState>

export const createSimulatorState = (options: SimulatorStateOptions = {}) => {
  const {seed = 'lading', at = '2026-11-02T09:00:00Z', secretKey = 'sk_test_stand_in', webhookSecret = null, settings} = options
  const store = createStore()
  const clock = createClock(store, at)
  return {
    store,
    clock,
    seed,
    secretKey,
    webhookSecret,
    newId: createIds(store, seed),
    settings: {...defaultSettings, ...settings},
    keys: createKeys(),
    faults: createFaults(),
    journal: createJournal(),
    traffic: createTraffic(seed),
    baseUrl: '',
    signedAt: options.signedAt ?? clock.now,
    /** The call in progress, which events name. Null outside calls, such as when the clock moves. */
    cause: null as {id: string; key: string | null} | null,
    /** The real time in ms that a slow card adds to this call. */
    slowMs: 0,
  }
}

/** Executes a function atomically: an error undoes all its changes, unless it is a refusal with `keep`. */
export const attempt = <T>({store}: SimulatorState, run: () => T): T => {
  const mark = store.mark()
  try {
    return run()
  } catch (error) {
    if (!(error instanceof Refusal && error.keep)) store.restore(mark)
    throw error
  }
}

/** Executes a function, undoes its changes and returns its result. */
export const runAndRollBack = <T>({store}: SimulatorState, run: () => T): T => {
  const mark = store.mark()
  try {
    return run()
  } finally {
    store.restore(mark)
  }
}

const counted = ['customer', 'subscription', 'subscription_schedule', 'invoice', 'checkout.session', 'payment_intent', 'charge', 'event']

export const describeState = (world: SimulatorState) => ({
  now: world.clock.now(),
  counts: Object.fromEntries(counted.map(object => [object, world.store.all(object).length])),
  money: countMoney(world),
  waiting: world.store.all('~delivery').length + world.store.all('~fresh').length,
  held: world.faults.held(),
  meterErrors: world.store.all('~usageError').filter(one => one.at <= world.clock.now()),
})

/**
 * Compares charges with paid invoices and single payments, which other code maintains. `difference` is 0 unless a charge or a purchase has
 * no counterpart.
 */
export const countMoney = ({store}: SimulatorState, customer?: string) => {
  const ofInvoices = new Set(store.all('invoice_payment').map(payment => payment.payment.payment_intent))
  const sum = (object: string, amount: string, counts: (thing: Thing) => boolean = () => true): number =>
    store
      .all(object)
      .filter(thing => (customer === undefined || thing.customer === customer) && counts(thing))
      .reduce((total, thing) => total + thing[amount], 0)
  const charged = sum('charge', 'amount_captured', charge => charge.paid)
  const invoices = sum('invoice', 'amount_paid', invoice => invoice.status === 'paid')
  const payments = sum('payment_intent', 'amount_received', ({id, status}) => status === 'succeeded' && !ofInvoices.has(id))
  return {charged, refunded: sum('refund', 'amount'), invoices, payments, difference: charged - invoices - payments}
}

/** A call and the status of its answer. */
export type Entry = {
  at: number
  method: string
  path: string
  key: string | null
  version: string | null
  requestId: string
  body: string
  /** Null if the connection was dropped. */
  status: number | null
  fault: number | null
  isReplay: boolean
}

const keptEntries = 5000

const createJournal = () => {
  let entries: Entry[] = []
  return {
    note: (entry: Entry) => {
      entries.push(entry)
      if (entries.length > keptEntries) entries = entries.slice(-keptEntries / 2)
    },
    list: ({method, path}: {method?: string; path?: string} = {}) =>
      entries.filter(entry => (method === undefined || entry.method === method) && (path === undefined || entry.path.startsWith(path))),
    clear: () => void (entries = []),
  }
}

export type KeptAnswer = {fingerprint: string; answer: Answer | null; at: number}

const day = 24 * 3600
const longestKey = 255

/** Stores answers by idempotency key, for 24 hours of the stand-in's clock. */
const createKeys = () => {
  const kept = new Map<string, KeptAnswer>()
  return {
    /** Returns the stored answer of the key, or null to execute the call. Throws if the key is in use or had other parameters. */
    begin: (key: string, fingerprint: string, now: number): Answer | null => {
      if (key.length > longestKey) throw refuseKey(400, `Idempotency keys can be at most ${longestKey} characters.`)
      const found = kept.get(key)
      if (!found || (found.answer && now - found.at > day)) {
        kept.set(key, {fingerprint, answer: null, at: now})
        return null
      }
      if (found.fingerprint !== fingerprint) {
        throw refuseKey(
          400,
          `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
        )
      }
      if (found.answer) return found.answer
      throw refuseKey(
        409,
        `There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through): ${key}.`,
        'idempotency_key_in_use',
      )
    },
    keep: (key: string, answer: Answer) => {
      const found = kept.get(key)
      if (found) found.answer = answer
    },
    forget: (key: string) => void kept.delete(key),
    list: () => [...kept].filter(([, {answer}]) => answer !== null),
    restore: (all: [string, KeptAnswer][]) => {
      for (const [key, one] of all) kept.set(key, one)
    },
  }
}

const refuseKey = (status: number, message: string, code?: string) =>
  new Refusal(status, {type: 'idempotency_error', message, ...(code ? {code} : {})})
