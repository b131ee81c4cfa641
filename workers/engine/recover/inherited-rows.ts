import type {RowRange} from '../../../shared/mapping/flows/snapshot.ts'
import {mayExist} from '../../../shared/runs/results/row-result.ts'
import {findInherited} from '../../../sql/chain-rows.ts'
import type {UnsettledEntry} from '../../../sql/ledger.ts'
import type {OutcomeName} from '../../../sql/run-log.ts'
import type {UnsettledRow} from '../../../sql/unsettled.ts'
import type {Context} from '../context.ts'
import {type CompiledFlow, type ImportRow, isRow, type RowFailure, STEP_CODES} from '../model.ts'
import {uniqueKeyDigestOf} from '../send/payload-digest.ts'
import {unsettledEntryOf} from '../settle/verdict.ts'
import {countedAs} from './settle-open-sends.ts'

/**
 * A row for which this run sends nothing. Either an earlier run of the chain wrote its record, or its unanswered create can neither be sent again
 * nor searched for.
 */
export type InheritedRow = {
  row: Pick<ImportRow, 'key' | 'number' | 'counted' | 'attempt'>
  /** Whether an unanswered create of the row may have made a second record. */
  mayExistTwice?: boolean
  /** The row's unsettled entry, with the match key of the record that its create would have made. */
  entry?: UnsettledEntry
  outcome: Extract<OutcomeName, 'inherited' | 'unanswered' | 'skipped'>
  recordId: string | null
  code: string | null
  message: string | null
}

export const isInRange = ({from = 1, to = Number.POSITIVE_INFINITY}: RowRange = {}, number: number) => number >= from && number <= to

/**
 * Finds the rows whose record an earlier run of the chain created, claimed, updated or deleted, by row number. Makes no query if there is no earlier
 * run. If the flow deleted and now writes, a row whose record was deleted ends as skipped. The undo of the delete needs the entry of such a row.
 */
export const findInheritedRows = async (
  {hot, run, retried}: Pick<Context, 'hot' | 'run' | 'retried'>,
  flow: CompiledFlow,
  numbers: number[],
): Promise<Map<number, InheritedRow>> => {
  if (retried === null || numbers.length === 0) return new Map()
  const named = new Map(numbers.map(number => [`${flow.id}.${number}`, number]))
  const found = await findInherited(hot, {chain: retried, run: run.no, module: flow.module.no, keys: [...named.keys()]})
  return new Map(
    found.map(({key, recordId, mayExistTwice, isDeleted}) => {
      const number = named.get(key)!
      const end = isDeleted && !flow.deletes ? deletedBefore : ({outcome: 'inherited', code: null, message: null} as const)
      return [number, {row: {key, number, counted: null, attempt: 0}, recordId, mayExistTwice, ...end}]
    }),
  )
}

const deletedBefore = {
  outcome: 'skipped',
  code: 'DELETED_BEFORE',
  message: 'An earlier run of this retry chain deleted the record of the row. To write the row, start a new run',
} as const

/**
 * Continues a row that has an unsettled entry. An entry of the kind `again` is planned anew. Any other row keeps the operation that was
 * sent, because a new match could find the record of the row's own lost create. A create with a unique key is sent again; any other create
 * is first searched for by `sentDigest`. If neither is possible, returns an `InheritedRow` with the outcome unanswered. If the flow deleted and now
 * writes, or the reverse, a row without an unanswered create is planned anew. An expression may time out for a row that an earlier owner sent.
 * Such a row stays unanswered; a refused one fails and has `sent`.
 */
export const resumeRow = (
  {run}: Pick<Context, 'run'>,
  flow: CompiledFlow,
  composed: ImportRow | RowFailure,
  entry: UnsettledRow,
): ImportRow | RowFailure | InheritedRow => {
  const isOurs = entry.run === run.no
  const {number, key} = composed
  const counted = isOurs ? countedAs(entry.kind) : null
  const attempt = isOurs ? entry.attempt : 0
  const row = {key, number, counted, attempt}
  const isCreate = entry.kind === STEP_CODES.create
  const unknown = (code: string, message: string): InheritedRow => ({
    row,
    outcome: 'unanswered',
    recordId: entry.target,
    code,
    message,
    ...(isRow(composed) && isCreate && {entry: {...unsettledEntryOf(flow, composed, {...entry, attempt}), ...keptDigestOf(entry)}}),
  })
  // An earlier run logged the row as refused after an unanswered create. The row is planned again, but its record may exist.
  const mayBeMade = entry.kind === STEP_CODES.again && entry.ended && !isOurs && (entry.target === null || entry.creates > 0)
  // A dry run ends no entry of the chain that it rehearses.
  const lostUpdate = run.dryRun || entry.kind === STEP_CODES.delete ? null : entry.target
  if (!isRow(composed) && isCreate) return unknown(composed.code, `${composed.message}. ${SENT_BEFORE}`)
  if (!isRow(composed) && counted === 'unanswered') return unknown(composed.code, `${composed.message}. ${ROW_SENT_BEFORE}`)
  if (!isRow(composed) && isOurs) return {...composed, sent: {counted, attempt, lostUpdate}}
  if (!isRow(composed)) return mayBeMade ? {...composed, message: `${composed.message}. ${mayExist}`} : composed
  if (isCreate && flow.deletes) return unknown('SENT_BEFORE', `${SENT_BEFORE}, and this flow now deletes. Check the CRM`)
  if (isCreate && !entry.hasUniqueKey && (run.dryRun || entry.digest === null))
    return unknown('SENT_BEFORE', `${SENT_BEFORE}, and the row has no unique value to find its record by. Check the CRM`)
  if (isCreate && entry.hasUniqueKey && entry.digest !== null && !uniqueKeyDigestOf(flow, composed)?.equals(entry.digest))
    return unknown('PAYLOAD_CHANGED', `${SENT_BEFORE}, with other unique values. Restore the mappings and retry, or check the CRM`)
  const again = entry.kind === STEP_CODES.again || (entry.kind === STEP_CODES.delete) !== Boolean(flow.deletes)
  return {
    ...composed,
    ...row,
    open: true,
    hasLostCreate: mayBeMade || (isCreate && !isOurs),
    lostUpdate,
    unansweredCreates: entry.creates,
    unansweredSends: again || !isOurs ? 0 : Math.max(1, isCreate && !entry.hasUniqueKey ? attempt : 1),
    ...(isCreate && !entry.hasUniqueKey && {sentDigest: entry.digest!}),
    decided: again ? null : {kind: sentKindOf(entry), target: entry.target},
  }
}

const sentKindOf = ({kind}: UnsettledRow) => (kind === STEP_CODES.create ? 'create' : kind === STEP_CODES.delete ? 'delete' : 'update')

const keptDigestOf = ({hasUniqueKey, digest}: UnsettledRow) => ({hasUniqueKey, digest, ended: true})

const SENT_BEFORE = 'A create of this row was sent before and never answered'
const ROW_SENT_BEFORE = 'The row was sent before and never answered'

export const isInheritedRow = (one: ImportRow | RowFailure | InheritedRow): one is InheritedRow => 'outcome' in one
