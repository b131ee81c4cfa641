import type {Context} from '../context.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import type {SettlementParts} from '../settle/settler.ts'
import type {WrittenValues} from './record-marks.ts'

type MarkedFlow = Pick<CompiledFlow, 'module' | 'marks'>

/** Returns the marks that a write of the row leaves on its record. Null: the flow stores no marks. */
export const packMarks = (
  {marks}: Pick<MarkedFlow, 'marks'>,
  {payload, confirmed}: Pick<ImportRow, 'payload' | 'confirmed'>,
  recordId: string,
): Buffer | null => marks?.pack(recordId, {...confirmed, ...payload}) ?? null

/**
 * Adds the marks of the written and confirmed values to the settlement. `isSure`: false if the update got no answer, so the record may still have its
 * older values.
 */
export const markWritten = (
  {flow, settled}: {flow: MarkedFlow; settled: SettlementParts},
  row: Pick<ImportRow, 'key' | 'payload' | 'confirmed' | 'marks'>,
  recordId: string,
  isSure = true,
) => {
  const marks = row.marks ?? packMarks(flow, row, recordId)
  const {no: moduleNo, apiName: module} = flow.module
  if (marks) settled.marked.push({key: row.key, moduleNo, module, recordId, marks, isSure})
}

/** Days after which the marks of a record are stored again although they are the same, so that retention does not delete them. */
export const refreshDays = 7

/** Adds the marks of a record that already has these values and is not written. Adds nothing if equal marks were stored in the last `refreshDays`. */
export const markConfirmed = (
  ctx: Pick<Context, 'run'>,
  flow: CompiledFlow,
  settled: SettlementParts,
  {row: {key, payload, confirmed}, target, equal}: {row: ImportRow; target: string; equal: string[]},
  written: WrittenValues | undefined,
) => {
  if (!flow.marks || ctx.run.dryRun) return
  const values = {...confirmed, ...Object.fromEntries(equal.map(name => [name, payload[name]]))}
  const marks = flow.marks.pack(target, values)
  const isKnown = written?.includes(marks) ?? marks.length === 0
  if (isKnown && (written?.days ?? 0) < refreshDays) return
  const {no: moduleNo, apiName: module} = flow.module
  settled.marked.push({key, moduleNo, module, recordId: target, marks, isSure: true})
}
