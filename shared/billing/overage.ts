import type {Pool} from '../../sql/database.ts'
import {beginReport, listOfMinute, listReported, listUnsent, type Report, restReport, setSent, type Total} from '../../sql/overage.ts'
import type {Log} from '../telemetry/log.ts'
import {readPlanStatus} from './entitlements/plan-status.ts'
import {assertFresh} from './fresh.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

type OverageDeps = {db: Pool; payment: PaymentProvider; log: Log}
type Meter = {id: string; event: string; customerKey: string; valueKey: string}

/** Hours within which a report may be sent again. The provider deduplicates reports with one identifier for a day. */
const sameForHours = 23

/**
 * Periodic task: reports overage rows to the provider's meter, each report under one identifier until it is known to have arrived. Continues
 * after a refused report, and stops at any other failure of the provider. Returns the number of delivered reports.
 */
export const sendOverage = async (deps: OverageDeps, {most}: {most: number}): Promise<number> => {
  const {db, payment, log} = deps
  if (!payment.isConfigured) return 0
  const meters = openMeters(deps)
  let sent = 0
  for (const report of await listUnsent(db, most)) {
    try {
      if (await sendReport(deps, report, meters)) sent++
    } catch (error) {
      if (!(error instanceof PaymentFailure)) throw error
      const {kind, status, code, requestId} = error
      const about = {err: error, org: report.org, identifier: report.identifier, payment: {kind, status, code, requestId}}
      log[kind === 'refused' ? 'error' : 'warn'](about, 'an overage report was not accepted')
      // The failed attempt is counted, so that the next run of the task sends the other reports first.
      await restReport(db, report.identifier)
      if (kind !== 'refused') return sent
    }
  }
  return sent
}

/** The sources of a meter: the overage price of the org's plan, or else the overage item of the subscription. */
type MeterSource = Pick<Report, 'price' | 'item'>
type Meters = (source: MeterSource) => Promise<Meter | null>

const sendReport = async (deps: OverageDeps, report: Report, meters: Meters): Promise<boolean> => {
  const {db, log} = deps
  const {identifier, price, item, isItemLost, rows, triedHours, org} = report
  const meter = await meters(report)
  if (meter === null) {
    log.error({org, identifier, price, item}, 'overage rows cannot be billed: no meter found for the price')
    await restReport(db, identifier)
    return false
  }
  const isDoubtful = triedHours !== null && triedHours < sameForHours
  const arrived = triedHours !== null && !isDoubtful ? await hasArrived(deps, report, meter) : false
  if (arrived !== false) return arrived === true
  if (isDoubtful && (await isBillClosed(db, report))) {
    await restReport(db, identifier)
    return false
  }
  if (item === null) {
    const says = 'overage rows cannot be billed: the org has no live subscription with an overage price; bill them by hand'
    // A report that was tried may have arrived, which shows later. A lost item is added again, and then bills these rows.
    if (!isDoubtful && !isItemLost) log.error({org, identifier, rows}, says)
    await restReport(db, identifier)
    return false
  }
  const since = performance.now()
  const at = await beginReport(db, {identifier, hours: sameForHours})
  if (at === null) return false
  await sendToMeter(deps, {...report, at, since}, meter)
  await setSent(db, [identifier])
  return true
}

/** The provider closes a bill one hour after its period ends. The limit is half of that, so that a report arrives before the bill closes. */
const billOpenMs = 30 * 60_000

/**
 * Whether the bill of the report's period may be closed. A doubtful report must keep its time, so a closed bill would miss it. The report waits until
 * the meter shows whether it arrived. If it did not, it is sent with the current time and goes on the next bill.
 */
const isBillClosed = async (db: Pool, {org, at}: Report): Promise<boolean> => {
  const {window, now} = await readPlanStatus(db, org)
  return Date.parse(at) < Date.parse(window.startsAt) && Date.parse(now) >= Date.parse(window.startsAt) + billOpenMs
}

type StartedReport = Report & {since: number}

const sendToMeter = (
  {payment}: OverageDeps,
  {identifier, customer, rows, at, since}: StartedReport,
  {event, customerKey, valueKey}: Meter,
) => {
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

/** Whether the provider refused a report because it already has a report with the same identifier. Such a report counts as delivered. */
const isThereAlready = (error: unknown) =>
  error instanceof PaymentFailure &&
  error.kind === 'refused' &&
  (error.code === 'duplicate_meter_event' || /already exists/.test(error.message))

/**
 * Returns whether the meter counted a report whose identifier the provider may have forgotten. The meter returns only sums, so all unconfirmed
 * reports of the org in that minute are checked together. Counted reports are marked as delivered. Returns null while one of them may be sent again
 * or the meter may still be counting. Also returns null if no set of reports explains the sum; staff must check that.
 */
const hasArrived = async ({db, payment, log}: OverageDeps, report: Report, meter: Meter): Promise<boolean | null> => {
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
    log.error({org, identifier, counted, known}, 'the sum that the meter counted in a minute matches no set of reports')
    await restReport(db, identifier)
    return null
  }
  await setSent(db, arrived)
  return arrived.includes(identifier)
}

const mostSums = 20_000

/** Finds reports whose rows add up to `sum`. Null if there are none, or if too many sums would have to be tried. */
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

/** Returns a function that reads the meter of a price or item, once for each. The function returns null if there is no meter. */
const openMeters = ({payment}: OverageDeps): Meters => {
  const known = new Map<string, Promise<Meter | null>>()
  return async source => {
    const id = source.price ?? source.item
    if (id === null) return null
    const found = known.get(id) ?? readMeter(payment, source)
    known.set(id, found)
    return found
  }
}

const readMeter = async (payment: PaymentProvider, source: MeterSource): Promise<Meter | null> => {
  const {recurring} = await readPrice(payment, source)
  if (!recurring?.meter) return null
  const {meter} = recurring
  const {id, event_name, customer_mapping, value_settings} = await payment.ask('billing.meter', stripe =>
    stripe.billing.meters.retrieve(meter),
  )
  return {id, event: event_name, customerKey: customer_mapping.event_payload_key, valueKey: value_settings.event_payload_key}
}

const readPrice = async (payment: PaymentProvider, {price, item}: MeterSource) => {
  if (price !== null) return payment.ask('price', stripe => stripe.prices.retrieve(price))
  return (await payment.ask('subscription_item', stripe => stripe.subscriptionItems.retrieve(item!))).price
}

const perLook = 100
const days = 3

type Difference = {org: string; reported: number; counted: number}

/**
 * Daily task: compares the meter's count of the last three whole UTC days with the confirmed reports. Only this comparison reveals a report
 * that was accepted but not counted. Logs the differences for staff and returns them. Stops after about `most` totals, or if the provider does
 * not answer.
 */
export const reconcileOverage = async (deps: OverageDeps, {most}: {most: number}): Promise<Difference[]> => {
  const {db, payment, log} = deps
  const differences: Difference[] = []
  if (!payment.isConfigured) return differences
  const meters = openMeters(deps)
  for (let after = '', done = 0; done < most; ) {
    const all = await listReported(db, {days, after, limit: perLook})
    for (const one of all) {
      const {org, rows, from, to} = one
      try {
        const counted = await countAgain(payment, meters, one)
        if (counted === rows) continue
        differences.push({org, reported: rows, counted})
        log.error({org, reported: rows, counted, from, to}, 'the count of the meter differs from the reported rows')
      } catch (error) {
        if (!(error instanceof PaymentFailure)) throw error
        log.warn({err: error, org}, 'could not compare the reported rows with the meter')
        if (error.kind !== 'refused') return differences
      }
    }
    done += all.length
    if (all.length < perLook) break
    after = all.at(-1)!.org
  }
  return differences
}

const countAgain = async (payment: PaymentProvider, meters: Meters, {customer, from, to, ...source}: Total): Promise<number> => {
  const meter = await meters(source)
  return meter ? readSum(payment, meter, {customer, start: Date.parse(from) / 1000, end: Date.parse(to) / 1000}) : 0
}
