import type {Pool} from '../../sql/database.ts'
import {beginReport, listOfMinute, listReported, listUnsent, type Report, restReport, setSent, type Total} from '../../sql/overage.ts'
import type {Log} from '../log.ts'
import {assertFresh} from './fresh.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

type Tools = {db: Pool; payment: PaymentProvider; log: Log}
type Meter = {id: string; event: string; customerKey: string; valueKey: string}

/** The provider takes an identifier once in a day. */
const sameForHours = 23

/**
 * A step of the worker's rounds: tells the provider's meter of rows beyond plans, each report under its identifier until it is known to have
 * arrived. Ends with the first that the provider does not answer. Answers how many have arrived.
 */
export const sendOverage = async (tools: Tools, {most}: {most: number}): Promise<number> => {
  const {db, payment, log} = tools
  if (!payment.isConfigured) return 0
  const meters = openMeters(tools)
  let sent = 0
  for (const report of await listUnsent(db, most)) {
    try {
      if (await sendReport(tools, report, meters)) sent++
    } catch (error) {
      if (!(error instanceof PaymentFailure)) throw error
      const {kind, status, code, requestId} = error
      const about = {err: error, org: report.org, identifier: report.identifier, payment: {kind, status, code, requestId}}
      log[kind === 'refused' ? 'error' : 'warn'](about, 'a report of overage was not taken')
      // Whatever it is about this one, the others come first in the next round.
      await restReport(db, report.identifier)
      if (kind !== 'refused') return sent
    }
  }
  return sent
}

type Meters = (price: string) => Promise<Meter | null>

const sendReport = async (tools: Tools, report: Report, meters: Meters): Promise<boolean> => {
  const {db, log} = tools
  const {identifier, price, triedHours, org} = report
  const meter = price === null ? null : await meters(price)
  if (meter === null) {
    log.error({org, identifier, price}, 'rows beyond a plan cannot be billed')
    await restReport(db, identifier)
    return false
  }
  const arrived = triedHours !== null && triedHours >= sameForHours ? await hasArrived(tools, report, meter) : false
  if (arrived !== false) return arrived === true
  const since = performance.now()
  const at = await beginReport(db, {identifier, hours: sameForHours})
  if (at === null) return false
  await tellMeter(tools, {...report, at, since}, meter)
  await setSent(db, [identifier])
  return true
}

type Begun = Report & {since: number}

const tellMeter = ({payment}: Tools, {identifier, customer, rows, at, since}: Begun, {event, customerKey, valueKey}: Meter) => {
  const timestamp = Math.floor(Date.parse(at) / 1000)
  return payment
    .ask('billing.meter_event', async stripe => {
      assertFresh(since)
      return stripe.billing.meterEvents.create(
        {
          event_name: event,
          identifier,
          payload: {[customerKey]: customer, [valueKey]: String(rows)},
          timestamp,
        },
        {idempotencyKey: `mev:${identifier}:${timestamp}`},
      )
    })
    .catch(error => {
      if (!isThereAlready(error)) throw error
    })
}

/** Told under this identifier before: that is what was wanted. */
const isThereAlready = (error: unknown) =>
  error instanceof PaymentFailure &&
  error.kind === 'refused' &&
  (error.code === 'duplicate_meter_event' || /already exists/.test(error.message))

/**
 * Of a report that may have arrived longer ago than its identifier is known for: whether the meter has counted it. The customer's reports of its minute
 * that are in doubt are looked at together, since the meter tells sums; null while it may not have counted all of them yet. Sums that cannot
 * be come from elsewhere, and are for people to look at.
 */
const hasArrived = async ({db, payment, log}: Tools, report: Report, meter: Meter): Promise<boolean | null> => {
  const {org, customer, at, identifier} = report
  const all = await listOfMinute(db, {org, at, hours: sameForHours})
  if (all.some(one => one.identifier === identifier && one.sent)) return true
  if (all.some(({fresh}) => fresh)) return null
  const start = Math.floor(Date.parse(at) / 60_000) * 60
  const counted = await readSum(payment, meter, {customer, start, end: start + 60})
  const known = all.filter(({sent}) => sent).reduce((sum, {rows}) => sum + rows, 0)
  const doubtful = all.filter(({sent, tried}) => !sent && tried)
  const arrived = pickSum(doubtful, counted - known)
  if (arrived === null) {
    log.error({org, identifier, counted, known}, 'the meter has of a minute what cannot have been reported to it')
    await restReport(db, identifier)
    return null
  }
  await setSent(db, arrived)
  return arrived.includes(identifier)
}

const mostSums = 20_000

/** Some that come to this sum together; null where none do, or too many sums were to be tried. */
export const pickSum = (of: readonly {identifier: string; rows: number}[], sum: number): readonly string[] | null => {
  const reached = new Map<number, readonly string[]>([[0, []]])
  for (const {identifier, rows} of of) {
    for (const [had, names] of [...reached]) {
      const next = had + rows
      if (next <= sum && !reached.has(next)) reached.set(next, [...names, identifier])
    }
    if (reached.has(sum) || reached.size > mostSums) break
  }
  return reached.get(sum) ?? null
}

const readSum = async (payment: PaymentProvider, {id}: Meter, {customer, start, end}: {customer: string; start: number; end: number}) => {
  const {data} = await payment.ask('list', stripe =>
    stripe.billing.meters.listEventSummaries(id, {customer, start_time: start, end_time: end}),
  )
  return data.reduce((sum, {aggregated_value}) => sum + aggregated_value, 0)
}

/** The meter a price counts by, asked once a round. Null for a price that is none. */
const openMeters = ({payment}: Tools): Meters => {
  const known = new Map<string, Promise<Meter | null>>()
  return price => {
    const found = known.get(price) ?? readMeter(payment, price)
    known.set(price, found)
    return found
  }
}

const readMeter = async (payment: PaymentProvider, price: string): Promise<Meter | null> => {
  const {recurring} = await payment.ask('price', stripe => stripe.prices.retrieve(price))
  if (!recurring?.meter) return null
  const {meter} = recurring
  const {id, event_name, customer_mapping, value_settings} = await payment.ask('billing.meter', stripe =>
    stripe.billing.meters.retrieve(meter),
  )
  return {id, event: event_name, customerKey: customer_mapping.event_payload_key, valueKey: value_settings.event_payload_key}
}

const perLook = 100
const days = 3

type Difference = {org: string; reported: number; counted: number}

/**
 * For once a day: holds what the meter has counted of the last whole days against what was reported and confirmed. A report that it took and did
 * not count is told of nowhere else. Differences are logged for people to look at, and answered.
 */
export const reconcileOverage = async (tools: Tools, {most}: {most: number}): Promise<Difference[]> => {
  const {db, payment, log} = tools
  const differences: Difference[] = []
  if (!payment.isConfigured) return differences
  const meters = openMeters(tools)
  for (let after = '', done = 0; done < most; ) {
    const all = await listReported(db, {days, after, limit: perLook})
    for (const one of all) {
      const {org, rows, from, to} = one
      try {
        const counted = await countAgain(payment, meters, one)
        if (counted === rows) continue
        differences.push({org, reported: rows, counted})
        log.error({org, reported: rows, counted, from, to}, 'the meter differs from what was reported to it')
      } catch (error) {
        if (!(error instanceof PaymentFailure)) throw error
        log.warn({err: error, org}, 'what was reported could not be compared with the meter')
        if (error.kind !== 'refused') return differences
      }
    }
    done += all.length
    if (all.length < perLook) break
    after = all.at(-1)!.org
  }
  return differences
}

const countAgain = async (payment: PaymentProvider, meters: Meters, {customer, price, from, to}: Total): Promise<number> => {
  const meter = await meters(price)
  return meter ? readSum(payment, meter, {customer, start: Date.parse(from) / 1000, end: Date.parse(to) / 1000}) : 0
}
