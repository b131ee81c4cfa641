import {describeEmptied, describeRounded} from '../../../shared/runs/results/row-result.ts'
import {storableText} from '../../../shared/schema/storable-text.ts'
import {
  countAt,
  deletedAt,
  keptEditsAt,
  keptRowsAt,
  type OutcomeName,
  outcomeNo,
  PHASES,
  staleAt,
  unchangedAt,
} from '../../../sql/run-log.ts'
import type {ImportRow} from '../model.ts'
import type {SettlementParts} from './settler.ts'

export type LogDetails = {recordId?: string | null; code?: string | null; message?: string | null; target?: string | null}
type EntryFlow = {no: number; module: {no: number}}
type EntryDetails = LogDetails & {phase: (typeof PHASES)[number]; outcome: OutcomeName; attempt?: number}

/**
 * Builds a log entry of the row. Omitted details are null, and an omitted attempt is 0. The number is null for a row of an external engine
 * without a number.
 */
export const logEntryOf = (
  {no: flow, module}: EntryFlow,
  {key, number}: Pick<ImportRow, 'key' | 'number'>,
  {phase, outcome, target = null, attempt = 0, recordId = null, code = null, message = null}: EntryDetails,
) => ({
  key,
  flow,
  number: number || null,
  module: module.no,
  phase: PHASES.indexOf(phase),
  target,
  attempt,
  recordId,
  outcome: outcomeNo(outcome),
  code,
  message,
})

/** Logs and counts that an unanswered create of the row, sent without a unique key, may have made a second record. */
export const logMayExistTwice = (
  {flow, settled}: {flow: EntryFlow; settled: SettlementParts},
  row: Pick<ImportRow, 'key' | 'number'>,
  {recordId, message = null}: {recordId: string | null; message?: string | null},
) => {
  settled.log.push(logEntryOf(flow, row, {phase: 'write', recordId, outcome: 'made_after_no_answer', message}))
  add(settled.counts, countAt(flow.module.no, 'made_after_no_answer'), 1)
}

export const logOutcome = (
  {flow, settled}: {flow: EntryFlow & {patchPlan?: unknown; tags?: unknown}; settled: SettlementParts},
  row: Pick<ImportRow, 'key' | 'number' | 'counted' | 'notes'> & Partial<Pick<ImportRow, 'payload' | 'rounded' | 'emptied' | 'keptEdits'>>,
  outcome: OutcomeName,
  logDetails: LogDetails & {attempt: number},
) => {
  const {recordId = null, code = null, target = null, attempt} = logDetails
  const message = withRemarks(row, outcome, logDetails.message ?? null)
  const {no: module} = flow.module
  if (row.notes) noteLookups({flow, settled}, row)
  if (row.keptEdits) noteKeptEdits({flow, settled}, row, recordId)
  const phase = flow.tags ? 'tag' : flow.patchPlan ? 'patch' : 'write'
  const shortCode = code && storableText(code, 100)
  const shortMessage = message && storableText(message, longestMessage)
  settled.log.push(logEntryOf(flow, row, {phase, target, attempt, recordId, outcome, code: shortCode, message: shortMessage}))
  // Patches and tags do not change the outcome under which a row is counted.
  if (flow.patchPlan || flow.tags) return
  if (row.counted) add(settled.counts, countAt(module, row.counted), -1)
  add(settled.counts, countAt(module, outcome), 1)
  row.counted = outcome
  if (code === 'PLAN_STALE' && outcome === 'skipped') add(settled.counts, staleAt(module), 1)
}

const none: string[] = []

/** Returns the message of a log entry. For a created, updated or planned row, remarks about emptied and then rounded fields are appended. */
const withRemarks = (
  {payload, rounded, emptied = none}: Partial<Pick<ImportRow, 'payload' | 'rounded' | 'emptied'>>,
  outcome: OutcomeName,
  message: string | null,
) => {
  const hasRemarks = rounded !== undefined || emptied.length > 0
  if (!hasRemarks || !['created', 'updated', 'planned'].includes(outcome)) return message
  const fields = rounded?.filter(field => payload !== undefined && field in payload) ?? []
  const remarks = [
    ...(message === null ? [] : [message]),
    ...(emptied.length > 0 ? [describeEmptied(emptied)] : []),
    ...(fields.length > 0 ? [describeRounded(fields)] : []),
  ]
  return remarks.length > 0 ? remarks.join('. ') : null
}

/** Logs the lookups of a row once, before the first entry of the row itself. */
const noteLookups = ({flow, settled}: Parameters<typeof logOutcome>[0], row: Pick<ImportRow, 'key' | 'number' | 'notes'>) => {
  for (const {field, ...logDetails} of row.notes?.splice(0) ?? [])
    settled.log.push(logEntryOf(flow, row, {phase: 'lookup', target: field, outcome: 'lookup', ...logDetails}))
}

/** Logs and counts, once, the edited values that the row did not overwrite. They come before the first entry of the row itself. */
const noteKeptEdits = (
  {flow, settled}: Parameters<typeof logOutcome>[0],
  row: Pick<ImportRow, 'key' | 'number' | 'keptEdits'>,
  recordId: string | null,
) => {
  const why = {code: 'KEPT_EDIT', message: 'A person changed the value in the CRM, so it was kept'}
  for (const field of row.keptEdits?.splice(0) ?? []) {
    settled.log.push(logEntryOf(flow, row, {phase: 'edit', target: field, recordId, outcome: 'skipped', ...why}))
    add(settled.counts, keptEditsAt(flow.module.no), 1)
  }
}

/** The outcomes of a row that cannot have made a record unknown to the ledger. Rows that waited for its locks need no new match. */
export const LEDGERED = new Set<ImportRow['counted']>(['created', 'updated', 'skipped', 'planned'])

export const longestMessage = 1_000

/** Counts a skipped row also as unchanged. */
export const countUnchanged = ({counts}: Pick<SettlementParts, 'counts'>, {module}: {module: {no: number}}) =>
  add(counts, unchangedAt(module.no), 1)

/**
 * Counts the links that the row left empty. Call it only if the settlement stores no record for the row, because an entry of `kept` already has the
 * row's empty links.
 */
export const countEmptyLinks = (
  {emptyLinks}: Pick<SettlementParts, 'emptyLinks'>,
  {no: flow}: {no: number},
  row: Pick<ImportRow, 'emptyLinks'>,
) => emptyLinks.push(...(row.emptyLinks ?? []).map(field => ({flow, field})))

/** Counts a row as one whose edited values were kept, in addition to its count as skipped. */
export const countKept = ({counts}: Pick<SettlementParts, 'counts'>, {module}: {module: {no: number}}) =>
  add(counts, keptRowsAt(module.no), 1)

/** Counts a row as deleted, in addition to its count as updated or planned. */
export const countDeleted = ({counts}: Pick<SettlementParts, 'counts'>, {module}: {module: {no: number}}) =>
  add(counts, deletedAt(module.no), 1)

const add = (counts: Map<number, number>, index: number, change: number) => counts.set(index, (counts.get(index) ?? 0) + change)
