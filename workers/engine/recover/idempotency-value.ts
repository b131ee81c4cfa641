import {type IdempotencyValueOf, openIdempotencyValues} from '../../../shared/runs/idempotency-values.ts'
import type {UnsettledRow} from '../../../sql/unsettled.ts'
import type {Context, OfflineContext} from '../context.ts'
import {type CompiledFlow, type ImportRow, isRow, type RowFailure, STEP_CODES} from '../model.ts'
import {uniqueKeyDigestOf} from '../send/payload-digest.ts'

/**
 * Returns the function that computes the idempotency values of the run's chain. Null: no module has an idempotency field, or the run is an
 * undo, which creates no record.
 */
export const openIdempotency = async ({config, db, run, snapshot}: OfflineContext): Promise<IdempotencyValueOf | null> => {
  if (run.undoOf !== null || snapshot.modules.every(({idempotencyField}) => idempotencyField === undefined)) return null
  return openIdempotencyValues({db, ring: config.SECRETS_KEYS}, {org: run.org, run: (run.dryRun && run.retryOf) || run.id})
}

/**
 * Adds the idempotency value to a composed row. A row whose unanswered create was sent without the value gets none, because its record is
 * searched for by the values that were sent.
 */
export const addIdempotencyValue = (
  {idempotencyValueOf}: Pick<Context, 'idempotencyValueOf'>,
  flow: CompiledFlow,
  row: ImportRow | RowFailure,
  entry?: UnsettledRow,
): void => {
  const {apiName: module, idempotencyField: field} = flow.module
  if (!idempotencyValueOf || field === undefined || !isRow(row)) return
  const hasLostCreate = entry && (entry.kind === STEP_CODES.create || entry.creates > 0)
  const isSentWithout = hasLostCreate && (!entry.hasUniqueKey || (entry.digest && uniqueKeyDigestOf(flow, row)?.equals(entry.digest)))
  if (!isSentWithout) Object.assign(row, {idempotency: {field, value: idempotencyValueOf(module, row.key)}, hasUniqueKey: true})
}
