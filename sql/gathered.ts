import type {Hot} from './database.ts'

/** No batch has more keys than these, and no more batches than these are on their way at once; the others gather meanwhile. */
const mostKeys = 200
const mostFlights = 2

/** As long as a pool lets a query wait for a connection. Whoever has waited longer behind a batch that failed is told with it. */
const mostPatientMs = 5_000

type Waiting<Key, Row> = {key: Key; since: number; resolve: (row: Row | undefined) => void; reject: (error: unknown) => void}
type Gate<Key, Row> = {waiting: Waiting<Key, Row>[]; flights: number; isDue: boolean}

/**
 * A named statement that finds one row by one key, asked once for all the keys that come in the same turn of the event loop, or while the
 * batches before are on their way: a busy server asks one question for many requests, an idle one asks at once. What is answered was read after it was
 * asked for. The text takes the keys as `$1`, an array, and answers `n`, the place of each row's key in it from 1.
 */
export const prepareByKey = <Key, Row extends object>(name: string, text: string, {patienceMs = mostPatientMs} = {}) => {
  const gates = new WeakMap<Hot, Gate<Key, Row>>()
  const gateOf = (hot: Hot) => {
    const gate = gates.get(hot) ?? {waiting: [], flights: 0, isDue: false}
    gates.set(hot, gate)
    return gate
  }
  const fly = async (hot: Hot, gate: Gate<Key, Row>) => {
    gate.isDue = false
    if (gate.flights >= mostFlights || gate.waiting.length === 0) return
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
      if (gate.isDue || gate.flights >= mostFlights) return
      gate.isDue = true
      setImmediate(() => void fly(hot, gate))
    })
}
