import {pauseSubscription} from './billing.ts'
import {payCheckout, settleCheckout} from './checkout-payment.ts'
import {type Instant, runDue, toSeconds} from './clock.ts'
import {type Behaviour, setBehaviour} from './customers.ts'
import {createEndpoint, sendDue, settle, type Try} from './deliveries.ts'
import {need} from './objects.ts'
import {closeDispute, dispute, refund} from './payments.ts'
import {actAtPortal, type PortalAct} from './portal.ts'
import {addDiscount} from './products.ts'
import {
  attempt,
  countMoney,
  createSimulatorState,
  describeState,
  type Settings,
  type SimulatorState,
  type SimulatorStateOptions,
} from './state.ts'
import type {Thing} from './store.ts'
import {applyUpdate} from './subscription-updates.ts'
import {cancelNow, cancelPatch, changeSubscription, earliestEnd} from './subscriptions.ts'
import {invalid} from './wire.ts'

export type Simulator = ReturnType<typeof createSimulator>

/** Creates the interface for tests. `/_sim` offers most of it over HTTP. */
export const createSimulator = (options: SimulatorStateOptions) => {
  let world = createSimulatorState(options)
  return {
    get world() {
      return world
    },
    get faults() {
      return world.faults
    },
    get traffic() {
      return world.traffic
    },
    reset: () => {
      const {baseUrl} = world
      world.faults.release()
      world = createSimulatorState(options)
      world.baseUrl = baseUrl
    },
    now: () => world.clock.now(),
    /** Moves the clock, executes due actions in order and sends their events. */
    advance: (seconds: number) => advanceTo(world, world.clock.now() + seconds),
    advanceTo: (at: Instant) => advanceTo(world, at),
    /** Sends due deliveries and returns when all are answered. */
    settle: () => settle(world),
    deliveries: () => world.store.all('~try') as unknown as Try[],
    addEndpoint: (url: string, events = ['*']) => createEndpoint({world, params: {url, enabled_events: events}, ids: [], path: ''}),
    setSettings: (settings: Partial<Settings>) => void Object.assign(world.settings, settings),
    setCard: (id: string, behaviour: Behaviour) => setBehaviour(world, id, behaviour),
    find: (id: string) => world.store.find(id),
    all: (object: string) => world.store.all(object),
    journal: (filter?: {method?: string; path?: string}) => world.journal.list(filter),
    clearJournal: () => world.journal.clear(),
    state: () => describeState(world),
    money: (customer?: string) => countMoney(world, customer),
    ...openPeople(run => act(world, run)),
  }
}

const advanceTo = async (world: SimulatorState, to: Instant) => {
  const at = toSeconds(to)
  await settle(world)
  for (let name = world.clock.next(at); name !== null; name = world.clock.next(at)) {
    runDue(world, name)
    world.store.commit()
    await settle(world)
  }
  world.clock.set(at)
}

type Act = (run: (world: SimulatorState) => Thing) => Promise<Thing>

/** Executes an action outside API calls and sends its events. */
const act = async (world: SimulatorState, run: (world: SimulatorState) => Thing): Promise<Thing> => {
  const changed = attempt(world, () => run(world))
  world.store.commit()
  await sendDue(world)
  return changed
}

const openPeople = (act: Act) => ({
  payCheckout: (id: string, how?: {card?: string; email?: string; country?: string}) => act(world => payCheckout(world, id, how)),
  /** Decides a pending bank debit. */
  settleCheckout: (id: string, outcome: 'succeeded' | 'failed') => act(world => settleCheckout(world, id, outcome)),
  actAtPortal: (session: string, what: PortalAct) => act(world => actAtPortal(world, session, what)),
  dashboard: openDashboard(act),
})

/** What staff do in the provider's dashboard. */
const openDashboard = (act: Act) => {
  const change = (id: string, run: (world: SimulatorState, subscription: Thing) => Thing) =>
    act(world => {
      const subscription = need(world, 'subscription', id)
      if (subscription.ended_at !== null) throw invalid('This subscription has ended.')
      return run(world, subscription)
    })
  return {
    /** Changes the price of the first item. The difference goes on the next invoice. */
    changePrice: (id: string, price: string) =>
      change(id, (world, subscription) => {
        const items = [{id: subscription.items.data[0].id, price}]
        return applyUpdate(world, subscription, {items, prorationBehaviour: 'create_prorations', patch: {}}).subscription
      }),
    cancelNow: (id: string) => change(id, cancelNow),
    cancelAtPeriodEnd: (id: string) =>
      change(id, (world, subscription) =>
        changeSubscription(world, subscription, cancelPatch(world, subscription, earliestEnd(subscription), true)),
      ),
    pause: (id: string) => change(id, (world, subscription) => pauseSubscription(world, subscription, 'pause_requested')),
    addCoupon: (id: string, coupon: string) => change(id, (world, subscription) => addDiscount(world, subscription, coupon)),
    refund: (id: string, amount?: number) => act(world => refund(world, need(world, 'charge', id), {amount})),
    dispute: (id: string, reason?: string) => act(world => dispute(world, need(world, 'charge', id), reason)),
    closeDispute: (id: string, outcome: 'won' | 'lost') => act(world => closeDispute(world, id, outcome)),
  }
}
