import type {Hot, Pool} from '../../../sql/database.ts'
import {gauge} from './registry.ts'

const connections = gauge({
  name: 'pool_connections',
  help: 'Connections of this process to Postgres, by pool (`main`; `hot` for queries of every request and batch) and state',
  labels: ['pool', 'state'],
})
const waiters = gauge({name: 'pool_waiters', help: 'Queries that wait for a connection of this process', labels: ['pool']})

type Pools = {db: Pool; hot: Hot}
const watched = new Set<Pools>()

/** Includes these pools in the metrics until the returned function is called. */
export const watchPools = (pools: Pools): (() => void) => {
  watched.add(pools)
  return () => void watched.delete(pools)
}

export const lookAtPools = (): void => {
  const sum = (of: (pools: Pools) => number) => [...watched].reduce((total, pools) => total + of(pools), 0)
  connections.set(
    {pool: 'main', state: 'busy'},
    sum(({db}) => db.state().acquiredConnections),
  )
  connections.set(
    {pool: 'main', state: 'idle'},
    sum(({db}) => db.state().idleConnections),
  )
  connections.set(
    {pool: 'hot', state: 'busy'},
    sum(({hot}) => hot.totalCount - hot.idleCount),
  )
  connections.set(
    {pool: 'hot', state: 'idle'},
    sum(({hot}) => hot.idleCount),
  )
  waiters.set(
    {pool: 'main'},
    sum(({db}) => db.state().waitingClients),
  )
  waiters.set(
    {pool: 'hot'},
    sum(({hot}) => hot.waitingCount),
  )
}
