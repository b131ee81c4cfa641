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
import {countMoney, describeState, type Money, type State} from './state.ts'
import type {Thing} from './store.ts'
import type {Traffic, TrafficRule} from './traffic.ts'
import {createWorld, type Settings, type World, type WorldOptions} from './world.ts'

/** What tests hold: the same things `/_sim` offers over HTTP. */
export type StandIn = {
  readonly world: World
  /** Everything as it was at the start. */
  reset: () => void
  now: () => number
  /** Lets time pass; what is due on the way is done in its order, and told as it happens. */
  advance: (seconds: number) => Promise<void>
  advanceTo: (at: Instant) => Promise<void>
  faults: Pick<Faults, 'list' | 'clear' | 'release' | 'held'> & {add: (spec: FaultSpec) => number}
  traffic: Pick<Traffic, 'add' | 'clear' | 'shuffle' | 'together' | 'pause'>
  /** Sends what waits, and returns when everybody has answered. */
  settle: () => Promise<void>
  deliveries: () => Try[]
  addEndpoint: (url: string, events?: string[]) => Thing
  setSettings: (settings: Partial<Settings>) => void
  /** From now on the bank answers for this card like this. */
  setCard: (id: string, behaviour: Behaviour) => void
  /** A person pays at the hosted page. */
  payCheckout: (id: string, how?: {card?: string; email?: string; country?: string}) => Promise<Thing>
  /** What a bank debit came to, days after the page. */
  settleCheckout: (id: string, outcome: 'succeeded' | 'failed') => Promise<Thing>
  /** The customer acts at the portal. */
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

export const createStandIn = (options: WorldOptions): StandIn => {
  let world = createWorld(options)
  const now = () => world
  return {
    get world() {
      return world
    },
    reset: () => {
      const {baseUrl} = world
      world.faults.release()
      world = createWorld(options)
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

const timeAccess = (world: () => World) => {
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

const wireAccess = (world: () => World) => ({
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

/** What people do outside of our calls; it is told as soon as it is done. */
const peopleAccess = (world: () => World) => {
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
