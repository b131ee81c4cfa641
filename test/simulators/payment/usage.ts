import type {SimulatorState} from './simulator-state.ts'

export const usedIn = (world: SimulatorState, meterId: string, customer: string, from: number, until: number): number => {
  const meter = world.store.get('billing.meter', meterId)!
  const counted = world.store
    .all('~usage')
    .filter(one => one.meter === meterId && one.customer === customer && one.timestamp >= from && one.timestamp < until && !one.isCancelled)
    .filter(one => one.countedAt <= world.clock.now())
    .map(one => one.value as number)
  switch (meter.default_aggregation.formula) {
    case 'count':
      return counted.length
    case 'last':
      return counted.at(-1) ?? 0
    default:
      return counted.reduce((sum, value) => sum + value, 0)
  }
}
