import type {CountSpan} from '../../../shared/runs/forecast/forecast.ts'
import {addSpans, countBatches, spanOf} from './call-plan.ts'
import type {PlannedFlow, RunFacts} from './plan-calls.ts'

/** The number of fields that are read besides the written ones. */
const stamps = 2
/**
 * The number of due rows for which the verifier usually waits before it reads them back together. Each group can end with a part-filled call.
 */
const rowsPerGroup = 1_000

/**
 * Returns the credits of reading back every written row. Subform rows and deletes are not read back. A record with a long text may need one more
 * read.
 */
export const priceVerification = (flows: readonly PlannedFlow[], {fieldsPerRead}: Pick<RunFacts, 'fieldsPerRead'>): CountSpan =>
  flows.map(planned => priceFlow(planned, fieldsPerRead)).reduce(addSpans, spanOf(0))

const priceFlow = ({flow, tally, written, patch}: PlannedFlow, fieldsPerRead: number): CountSpan => {
  const readsOf = ({min, max}: CountSpan, fields: number, longTexts: number) => {
    const perRecord = Math.max(1, Math.ceil((fields + stamps) / fieldsPerRead))
    return spanOf(countBatches(min) * perRecord, (countBatches(max) + Math.ceil(max / rowsPerGroup)) * perRecord + Math.min(longTexts, max))
  }
  if (flow.deletes || flow.subform) return spanOf(0)
  const reads = readsOf(written, flow.mappings.length, tally.longTexts)
  return patch ? addSpans(reads, readsOf(spanOf(0, patch.tally.rows), patch.flow.mappings.length, patch.tally.longTexts)) : reads
}
