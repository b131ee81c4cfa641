import {creditsOfQuery, creditsOfTags, creditsOfWrite} from '../../../shared/crm/call-credits.ts'
import type {CountSpan} from '../../../shared/runs/forecast/forecast.ts'

export type CallSpan = {calls: CountSpan; credits: CountSpan}
export type CallPlan = Map<string, CallSpan>

export const spanOf = (min: number, max = min): CountSpan => ({min, max})

export const addSpans = (one: CountSpan, other: CountSpan): CountSpan => ({min: one.min + other.min, max: one.max + other.max})

export const addCalls = (plan: CallPlan, kind: string, {calls, credits}: CallSpan): void => {
  const before = plan.get(kind)
  plan.set(kind, before ? {calls: addSpans(before.calls, calls), credits: addSpans(before.credits, credits)} : {calls, credits})
}

/** Returns calls that cost one credit each. */
export const plainCalls = (min: number, max = min): CallSpan => ({calls: spanOf(min, max), credits: spanOf(min, max)})

export const recordsPerCall = 100

export const countBatches = (records: number): number => Math.ceil(records / recordsPerCall)

/** Returns the credits of records that are sent in full batches and a last, part-filled one. */
const creditsInBatches = (records: number, creditsOf: (records: number) => number): number =>
  Math.floor(records / recordsPerCall) * creditsOf(recordsPerCall) + (records % recordsPerCall ? creditsOf(records % recordsPerCall) : 0)

/**
 * Returns the calls and credits that write records. `partBatches`: batches sent part-filled besides the last. Ten records share a credit, so
 * each part-filled batch costs at most one credit more.
 */
export const writesOf = ({min, max}: CountSpan, partBatches = 0): CallSpan => ({
  calls: spanOf(countBatches(min), countBatches(max) + partBatches),
  credits: spanOf(creditsInBatches(min, creditsOfWrite), creditsInBatches(max, creditsOfWrite) + partBatches),
})

/**
 * Returns the calls and credits of tagging records. `repeated`: rows that may share a record with an earlier row. Such a row shares the earlier row's
 * call, or takes a part-filled batch if it comes much later in the file.
 */
export const tagsOf = ({min, max}: CountSpan, repeated: number): CallSpan => {
  const least = Math.max(min && 1, min - repeated)
  return {
    calls: spanOf(countBatches(least), countBatches(max) + repeated),
    credits: spanOf(creditsInBatches(least, creditsOfTags), creditsInBatches(max, creditsOfTags) + repeated),
  }
}

/**
 * The maximum number of records that contain a query's control value (shared/crm/controls.ts). A query also asks for that value, so its answer may
 * contain these records too.
 */
const controlRecords = 10
const [shortPage, longPage] = [200, 1_000]

export const creditsOfValues = (values: number): number => creditsOfQuery(values + controlRecords > shortPage ? longPage : shortPage)
