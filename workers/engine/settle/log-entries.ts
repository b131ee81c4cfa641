import {describeRounded} from '../../../shared/runs/results/row-result.ts'
import {countAt, type OutcomeName, outcomeNo, PHASES, unchangedAt} from '../../../sql/run-log.ts'
import type {ImportRow} from '../model.ts'
import type {SettlementParts} from './settler.ts'

/** Logs that an unanswered create of the row, sent without a unique key, may have made a second record. */
export const logMayExistTwice = (
  {flow, settled}: {flow: {no: number; module: {no: number}}; settled: SettlementParts},
  {key, number}: Pick<ImportRow, 'key' | 'number'>,
  {recordId, message = null}: {recordId: string | null; message?: string | null},
) => {
  const {no: module} = flow.module
  settled.log.push({
    ...{key, flow: flow.no, number, module, phase: PHASES.indexOf('write'), target: null, attempt: 0, recordId},
    ...{outcome: outcomeNo('made_after_no_answer'), code: null, message},
  })
  add(settled.counts, countAt(module, 'made_after_no_answer'), 1)
}

/** The code and message of a row whose record an earlier request created. */
export const madeEarlier = {code: 'MADE_EARLIER', message: 'Created by an earlier request that the CRM did not answer'}

export type LogDetails = {recordId?: string | null; code?: string | null; message?: string | null; target?: string | null}

export const logOutcome = (
  {flow, settled}: {flow: {no: number; module: {no: number}; patchPlan?: unknown}; settled: SettlementParts},
  row: Pick<ImportRow, 'key' | 'number' | 'counted' | 'notes'> & Partial<Pick<ImportRow, 'payload' | 'rounded'>>,
  outcome: OutcomeName,
  logDetails: LogDetails & {attempt: number},
) => {
  const {recordId = null, code = null, target = null, attempt} = logDetails
  const message = withRounding(row, outcome, logDetails.message ?? null)
  const {no: module} = flow.module
  if (row.notes) noteLookups({flow, settled}, row)
  settled.log.push({
    key: row.key,
    flow: flow.no,
    number: row.number,
    module,
    phase: PHASES.indexOf(flow.patchPlan ? 'patch' : 'write'),
    target,
    attempt,
    recordId,
    outcome: outcomeNo(outcome),
    code: code && plain(code, 100),
    message: message && plain(message, longestMessage),
  })
  // A patch does not change the outcome under which a row is counted.
  if (flow.patchPlan) return
  if (row.counted) add(settled.counts, countAt(module, row.counted), -1)
  add(settled.counts, countAt(module, outcome), 1)
  row.counted = outcome
}

/** Appends the names of the rounded fields to the message of a row that was created, updated or planned. */
const withRounding = (
  {payload, rounded}: Partial<Pick<ImportRow, 'payload' | 'rounded'>>,
  outcome: OutcomeName,
  message: string | null,
) => {
  const fields = rounded?.filter(field => payload !== undefined && field in payload) ?? []
  if (fields.length === 0 || !['created', 'updated', 'planned'].includes(outcome)) return message
  return message === null ? describeRounded(fields) : `${message}. ${describeRounded(fields)}`
}

/** Logs the lookups of a row once, before the first entry of the row itself. */
const noteLookups = ({flow, settled}: Parameters<typeof logOutcome>[0], row: Pick<ImportRow, 'key' | 'number' | 'notes'>) => {
  for (const {field, ...logDetails} of row.notes?.splice(0) ?? [])
    settled.log.push({
      ...{key: row.key, flow: flow.no, number: row.number, module: flow.module.no, phase: PHASES.indexOf('lookup'), target: field},
      ...{attempt: 0, outcome: outcomeNo('lookup'), ...logDetails},
    })
}

export const longestMessage = 1_000

/** Returns a text that Postgres accepts, cut to `most` characters. Postgres rejects NUL characters, and the CRM may return text of any length. */
export const plain = (text: string, most: number) => text.replaceAll('\0', '\ufffd').slice(0, most)

/** Counts a skipped row also as unchanged. */
export const countUnchanged = ({counts}: Pick<SettlementParts, 'counts'>, {module}: {module: {no: number}}) =>
  add(counts, unchangedAt(module.no), 1)

const add = (counts: Map<number, number>, index: number, change: number) => counts.set(index, (counts.get(index) ?? 0) + change)
