import type {FileRow} from '../../../shared/files/row.ts'
import {listNotedFields} from '../../../sql/run-log.ts'
import type {UnsettledRow} from '../../../sql/unsettled.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, ImportRow, RowFailure} from '../model.ts'
import {composeRow} from './compose-row.ts'
import type {EvaluatedExpressions} from './expressions.ts'
import {linkRows} from './link-rows.ts'
import {findParentCandidates, linkParents} from './parents.ts'

/** Composes rows in their order: runs the expressions, converts the cells and resolves the links. */
export const composeRows = async (
  ctx: Context,
  flow: CompiledFlow,
  rows: FileRow[],
  unsettled: ReadonlyMap<number, UnsettledRow>,
): Promise<(ImportRow | RowFailure)[]> => {
  return linkComposed(ctx, flow, {rows, composed: await composeUnlinked(ctx, flow, rows)}, unsettled)
}

export const composeUnlinked = async (ctx: Pick<Context, 'expressions' | 'signal'>, flow: CompiledFlow, rows: FileRow[]) => {
  const evaluated = await evaluateRows(ctx, flow, rows)
  return rows.map((row, at) => composeRow(flow, row, evaluated?.[at]))
}

/**
 * Returns the results of the flow's expressions for each row, in row order. Null: the flow has no expressions. A ragged row has no result,
 * because its cells do not match the columns.
 */
export const evaluateRows = async (
  {expressions, signal}: Pick<Context, 'expressions' | 'signal'>,
  {program}: Pick<CompiledFlow, 'program'>,
  rows: FileRow[],
): Promise<(EvaluatedExpressions | undefined)[] | null> => {
  if (!program) return null
  const whole = rows.filter(({ragged}) => !ragged)
  const evaluated = await expressions.evaluate(program, whole, signal)
  const byRow = new Map(whole.map((row, at) => [row, evaluated[at]!]))
  return rows.map(row => byRow.get(row))
}

type ComposedChunk = {rows: FileRow[]; composed: (ImportRow | RowFailure)[]}

const linkComposed = async (
  ctx: Context,
  flow: CompiledFlow,
  {rows, composed}: ComposedChunk,
  unsettled: ReadonlyMap<number, UnsettledRow>,
) => {
  if (!flow.parent && !flow.mappings.some(({link}) => link)) return composed
  const searched = await linkRows(ctx, flow, composed)
  const linked = flow.parent ? await linkParents(ctx, flow, searched, await findParentCandidates(ctx, flow, rows)) : searched
  await forgetNoted(
    ctx,
    flow,
    linked.filter(({number, notes}) => notes && unsettled.get(number)?.run === ctx.run.no),
  )
  return linked
}

/** Drops notes about links of an open row that an earlier owner already logged. */
const forgetNoted = async ({db, run}: Context, flow: CompiledFlow, open: (ImportRow | RowFailure)[]) => {
  if (open.length === 0) return
  const noted = await listNotedFields(db, {run: run.no, flow: flow.no, numbers: open.map(({number}) => number), phase: 'lookup'})
  const names = new Set(noted.map(({number, field}) => `${number} ${field}`))
  for (const row of open) row.notes = row.notes!.filter(({field}) => !names.has(`${row.number} ${field}`))
}
