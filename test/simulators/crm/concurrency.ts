import type {Edition} from './schema.ts'

const parallelCalls: Record<Edition, number> = {
  free: 5,
  standard: 10,
  crmplusstarter: 10,
  zohoonestandard: 10,
  professional: 15,
  enterprise: 20,
  zohooneenterprise: 20,
  ultimate: 25,
  crmplus: 25,
}
const heavyCalls = 10

export type Flight = {inFlight: number; heavy: number; peak: number; heavyPeak: number}

/** The calls in flight of an org, counted per client. Heavy calls (big batches, COQL, sorted reads) also have a smaller limit. */
export type Gate = {
  enter: (client: string, heavy: boolean, enforced: boolean) => Pass | null
  limit: () => number
  setLimit: (limit: number | null) => void
  flights: () => Record<string, Flight>
  peak: () => number
  /** The number and duration in ms of ended calls. */
  time: () => {calls: number; ms: number; recordCalls: number; recordMs: number}
  forget: () => void
}

export type Pass = {leave: (isRecordCall: boolean) => void}

export const createGate = (edition: Edition): Gate => {
  const clients = new Map<string, Flight>()
  let fixed: number | null = null
  let time = {calls: 0, ms: 0, recordCalls: 0, recordMs: 0}
  const limit = () => fixed ?? parallelCalls[edition]
  const flightOf = (client: string) => {
    let flight = clients.get(client)
    if (!flight) clients.set(client, (flight = {inFlight: 0, heavy: 0, peak: 0, heavyPeak: 0}))
    return flight
  }
  return {
    limit,
    setLimit: to => {
      fixed = to
    },
    enter: (client, heavy, enforced) => {
      const flight = flightOf(client)
      if (enforced && (flight.inFlight >= limit() || (heavy && flight.heavy >= heavyCalls))) return null
      const since = performance.now()
      flight.inFlight += 1
      if (heavy) flight.heavy += 1
      flight.peak = Math.max(flight.peak, flight.inFlight)
      flight.heavyPeak = Math.max(flight.heavyPeak, flight.heavy)
      const leave = (isRecordCall: boolean) => {
        const ms = performance.now() - since
        flight.inFlight -= 1
        if (heavy) flight.heavy -= 1
        time.calls += 1
        time.ms += ms
        if (!isRecordCall) return
        time.recordCalls += 1
        time.recordMs += ms
      }
      return {leave}
    },
    flights: () => Object.fromEntries([...clients].map(([client, flight]) => [client, {...flight}])),
    peak: () => Math.max(0, ...[...clients.values()].map(flight => flight.peak)),
    time: () => ({...time}),
    forget: () => {
      for (const flight of clients.values()) Object.assign(flight, {peak: flight.inFlight, heavyPeak: flight.heavy})
      time = {calls: 0, ms: 0, recordCalls: 0, recordMs: 0}
    },
  }
}
