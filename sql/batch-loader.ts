import type {Hot} from './database.ts'

/** `mostKeys`: the limit on keys in one query. `mostQueries`: the limit on concurrent queries. Other keys wait for the next query. */
const mostKeys = 200
const mostQueries = 2

/** The longest time in ms that the pool lets a query wait for a connection. If a query fails, keys that have waited longer fail too. */
const mostPatientMs = 5_000

type WaitingKey<Key, Row> = {key: Key; since: number; resolve: (row: Row | undefined) => void; reject: (error: unknown) => void}
type Gate<Key, Row> = {waiting: WaitingKey<Key, Row>[]; flights: number; isDue: boolean}

/**
 * Returns a batch loader over a named statement: a function that finds one row by one key. One query serves all keys of the same turn of the event
 * loop, or the keys that arrived while `mostQueries` earlier queries ran. Nothing is cached. `text` takes the keys as the array `$1`. Each returned
 * row has `n`, the position of its key in the array, from 1.
 */
export const openBatchLoader = <Key, Row extends object>(name: string, text: string, {patienceMs = mostPatientMs} = {}) => {
  const gates = new WeakMap<Hot, Gate<Key, Row>>()
  const gateOf = (hot: Hot) => {
    const gate = gates.get(hot) ?? {waiting: [], flights: 0, isDue: false}
    gates.set(hot, gate)
    return gate
  }
  const fly = async (hot: Hot, gate: Gate<Key, Row>) => {
    gate.isDue = false
    if (gate.flights >= mostQueries || gate.waiting.length === 0) return
    const batch = gate.waiting.splice(0, mostKeys)
    gate.flights++
    if (gate.waiting.length > 0) void fly(hot, gate)
    try {
      const {rows} = await hot.query<Row & {n: number}>({name, text, values: [batch.map(({key}) => key)]})
      const found = new Map(rows.map(row => [row.n, row]))
      for (const [at, {resolve}] of batch.entries()) resolve(found.get(at + 1))
    } catch (error) {
      const patient = gate.waiting.findIndex(({since}) => performance.now() - since < patienceMs)
      const late = gate.waiting.splice(0, patient === -1 ? gate.waiting.length : patient)
      for (const {reject} of [...batch, ...late]) reject(error)
    } finally {
      gate.flights--
      void fly(hot, gate)
    }
  }
  return (hot: Hot, key: Key): Promise<Row | undefined> =>
    new Promise((resolve, reject) => {
      const gate = gateOf(hot)
      gate.waiting.push({key, since: performance.now(), resolve, reject})
      if (gate.isDue || gate.flights >= mostQueries) return
      gate.isDue = true
      setImmediate(() => void fly(hot, gate))
    })
}
