import {describeUnfit, findUnfit} from '../../../shared/configuration/idempotency-field.ts'
import {type IdempotencyValueOf, openIdempotencyValues} from '../../../shared/runs/idempotency-values.ts'
import {canContinue} from '../../../shared/runs/stop.ts'
import {findDiscoveredModule} from '../../../sql/discoveries.ts'
import type {UnsettledRow} from '../../../sql/unsettled.ts'
import type {Context, OfflineContext} from '../context.ts'
import {type CompiledFlow, type ImportRow, isRow, type RowFailure} from '../model.ts'
import {RunStopped} from '../run-endings.ts'
import {uniqueKeyDigestOf} from '../send/payload-digest.ts'

/**
 * Returns the function that computes the idempotency values of the run's chain. Null: no module has an idempotency field, or the run is an
 * undo, which creates no record. Stops the run before its first row if the newest discovery shows that an idempotency field has become unfit.
 * If, for example, the field accepts duplicates, a create that is sent again could make a second record.
 */
export const openIdempotency = async ({config, db, run, snapshot}: OfflineContext): Promise<IdempotencyValueOf | null> => {
  if (run.undoOf !== null) return null
  const modules = snapshot.modules.filter(({idempotencyField}) => idempotencyField !== undefined)
  for (const {apiName: module, idempotencyField} of modules) {
    const discovered = await findDiscoveredModule(db, {connector: run.connectorId!, module})
    const flows = snapshot.flows.map(({flow}) => flow)
    const why = findUnfit(discovered, idempotencyField!, flows)
    const message = why && `${describeUnfit(module, idempotencyField!, why)}. ${canContinue(run)}`
    if (message) throw new RunStopped({stopped: 'FIELD_NOT_UNIQUE', message})
  }
  if (modules.length === 0) return null
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
  const isSentWithout = entry && (!entry.hasUniqueKey || (entry.digest && uniqueKeyDigestOf(flow, row)?.equals(entry.digest)))
  if (!isSentWithout) Object.assign(row, {idempotency: {field, value: idempotencyValueOf(module, row.key)}, hasUniqueKey: true})
}
