import type {Behaviour} from './cards.ts'
import {settleCheckout} from './checkout-later.ts'
import {payCheckout} from './checkout-payment.ts'
import {type Instant, toSeconds} from './clock.ts'
import {type Dashboard, openDashboard} from './dashboard.ts'
import {sendDue, settle, type Try} from './deliveries.ts'
import {runDue} from './due.ts'
import {createEndpoint} from './endpoints.ts'
import type {FaultSpec, Faults} from './faults.ts'
import type {Entry, Journal} from './journal.ts'
import {setBehaviour} from './payment-methods.ts'
import {actAtPortal, type PortalAct} from './portal.ts'
import {createSimulatorState, type Settings, type SimulatorState, type SimulatorStateOptions} from './simulator-state.ts'
import {countMoney, describeState, type Money, type State} from './state.ts'
import type {Thing} from './store.ts'
import type {Traffic, TrafficRule} from './traffic.ts'

/** The interface for tests, the same as `/_sim` over HTTP. */
export type Simulator = {
  readonly world: SimulatorState
  reset: () => void
  now: () => number
  /** Moves the clock; due actions are executed in order, and their events sent at once. */
  advance: (seconds: number) => Promise<void>
  advanceTo: (at: Instant) => Promise<void>
  faults: Pick<Faults, 'list' | 'clear' | 'release' | 'held'> & {add: (spec: FaultSpec) => number}
  traffic: Pick<Traffic, 'add' | 'clear' | 'shuffle' | 'together' | 'pause'>
  /** Sends waiting deliveries and returns when all are answered. */
  settle: () => Promise<void>
  deliveries: () => Try[]
  addEndpoint: (url: string, events?: string[]) => Thing
  setSettings: (settings: Partial<Settings>) => void
  setCard: (id: string, behaviour: Behaviour) => void
  payCheckout: (id: string, how?: {card?: string; email?: string; country?: string}) => Promise<Thing>
  /** Sets the outcome of a bank debit, days after the page. */
  settleCheckout: (id: string, outcome: 'succeeded' | 'failed') => Promise<Thing>
  actAtPortal: (session: string, act: PortalAct) => Promise<Thing>
  dashboard: Dashboard
  find: (id: string) => Thing | undefined
  all: (object: string) => Thing[]
  journal: Journal['list']
  clearJournal: () => void
  state: () => State
  money: (customer?: string) => Money
}

export type {Entry}

export const createSimulator = (options: SimulatorStateOptions): Simulator => {
  let world = createSimulatorState(options)
  const now = () => world
  return {
    get world() {
      return world
    },
    reset: () => {
      const {baseUrl} = world
      world.faults.release()
      world = createSimulatorState(options)
      world.baseUrl = baseUrl
    },
    ...timeAccess(now),
    ...wireAccess(now),
    ...peopleAccess(now),
    find: id => world.store.find(id),
    all: object => world.store.all(object),
    journal: filter => world.journal.list(filter),
    clearJournal: () => world.journal.clear(),
    state: () => describeState(world),
    money: customer => countMoney(world, customer),
  }
}

const timeAccess = (world: () => SimulatorState) => {
  const advanceTo = async (to: Instant) => {
    const at = toSeconds(to)
    await settle(world())
    for (let name = world().clock.next(at); name !== null; name = world().clock.next(at)) {
      runDue(world(), name)
      world().store.commit()
      await settle(world())
    }
    world().clock.set(at)
  }
  return {now: () => world().clock.now(), advanceTo, advance: (seconds: number) => advanceTo(world().clock.now() + seconds)}
}

const wireAccess = (world: () => SimulatorState) => ({
  faults: {
    add: (spec: FaultSpec) => world().faults.add(spec),
    list: () => world().faults.list(),
    clear: () => world().faults.clear(),
    release: () => world().faults.release(),
    held: () => world().faults.held(),
  },
  traffic: {
    add: (rule: TrafficRule) => world().traffic.add(rule),
    clear: () => world().traffic.clear(),
    shuffle: (isOn: boolean) => world().traffic.shuffle(isOn),
    together: (isOn: boolean) => world().traffic.together(isOn),
    pause: (isOn: boolean) => world().traffic.pause(isOn),
  },
  settle: () => settle(world()),
  deliveries: () => world().store.all('~try') as unknown as Try[],
  addEndpoint: (url: string, events = ['*']) =>
    createEndpoint({world: world(), params: {url, enabled_events: events}, ids: [], path: '/v1/webhook_endpoints'}),
  setSettings: (settings: Partial<Settings>) => void Object.assign(world().settings, settings),
  setCard: (id: string, behaviour: Behaviour) => setBehaviour(world(), id, behaviour),
})

/** Actions of people outside API calls; their events are sent at once. */
const peopleAccess = (world: () => SimulatorState) => {
  const told = async <T>(done: T): Promise<T> => {
    world().store.commit()
    await sendDue(world())
    return done
  }
  return {
    payCheckout: async (id: string, how?: {card?: string; email?: string; country?: string}) => told(payCheckout(world(), id, how)),
    settleCheckout: async (id: string, outcome: 'succeeded' | 'failed') => told(settleCheckout(world(), id, outcome)),
    actAtPortal: async (session: string, act: PortalAct) => told(actAtPortal(world(), session, act)),
    dashboard: openDashboard(world, told),
  }
}
