import {elementsAtOnce} from '../../../shared/crm/subforms.ts'
import type {Context} from '../context.ts'
import {type ImportRow, isRow, STEP_CODES} from '../model.ts'
import {isDue} from '../sealed-plan/keep-to-plan.ts'
import {logOutcome} from '../settle/log-entries.ts'
import {emptySettlement} from '../settle/settler.ts'
import {settleRows, staleFailure} from '../settle/unsent-rows.ts'
import {closeUnsettled, unsettledEntryOf} from '../settle/verdict.ts'
import {composeMembers} from '../subform/read-groups.ts'
import type {CompiledSubformFlow} from '../subform/record-order.ts'
import {type EndReason, type SubformGroupMember, selectRecordRows} from '../subform/subform-group.ts'

/** The subform rows of one flow that are sent in the create of their parent. */
export type NestedRows = {flow: CompiledSubformFlow; rows: ImportRow[]}

type Pass = Parameters<typeof settleRows>[0] & {ctx: Context}
type UnsentRow = {row: ImportRow; why: EndReason}

const rowsTogether = 500

/**
 * Composes the subform rows that are sent in the creates of these rows, all or none per create. A row whose subform rows cannot be sent is
 * settled and returned in `ended`. The subform rows of such a row are settled later by their own flow, which finds no parent record.
 */
export const nestRows = async (pass: Pass, rows: ImportRow[]): Promise<{ready: ImportRow[]; ended: ImportRow[]}> => {
  const unnested = await composeNested(pass, rows)
  if (unnested.length === 0) return {ready: rows, ended: []}
  await settleUnnested(pass, unnested)
  const ended = new Set(unnested.map(({row}) => row))
  return {ready: rows.filter(row => !ended.has(row)), ended: [...ended]}
}

/** If the row's record exists, no subform rows are sent with the row. The subform's own flow replaces the record's subform rows later. */
export const forgetNested = (row: ImportRow) => Object.assign(row, {nestable: undefined, nested: undefined})

export const countNested = ({nested = []}: Pick<ImportRow, 'nested'>): number => nested.reduce((sum, {rows}) => sum + rows.length, 0)

export const payloadOf = ({payload, nested, idempotency}: ImportRow): Record<string, unknown> => {
  if (!nested && !idempotency) return payload
  return {
    ...payload,
    ...Object.fromEntries((nested ?? []).map(({flow, rows}) => [flow.subform.field, rows.map(one => one.payload)])),
    ...(idempotency && {[idempotency.field]: idempotency.value}),
  }
}

const composeNested = async ({ctx, flow}: Pass, creates: ImportRow[]): Promise<UnsentRow[]> => {
  const open = creates.filter(({nested}) => !nested)
  const found = new Map(open.map(row => [row, [] as NestedRows[]]))
  const unnested = new Map<ImportRow, EndReason>()
  for (const nest of flow.nestedFlows!) {
    const members = await composeAllNested(
      ctx,
      nest,
      open.flatMap(row => row.nestable?.get(nest) ?? []),
    )
    for (const row of open) {
      const rows = chooseRows(nest, members.splice(0, row.nestable?.get(nest)?.length ?? 0))
      if (!Array.isArray(rows)) unnested.set(row, rows)
      else if (rows.length) found.get(row)!.push({flow: nest, rows})
    }
  }
  for (const [row, nested] of found) {
    if (countNested({nested}) > elementsAtOnce) unnested.set(row, TOO_MANY)
    if (!unnested.has(row)) Object.assign(row, {nested, nestable: undefined})
  }
  return [...unnested].map(([row, why]) => ({row, why}))
}

const composeAllNested = async (
  ctx: Context,
  nest: CompiledSubformFlow,
  read: Parameters<typeof composeMembers>[2],
): Promise<SubformGroupMember[]> => {
  const members: SubformGroupMember[] = []
  for (let from = 0; from < read.length; from += rowsTogether)
    members.push(...(await composeMembers(ctx, nest, read.slice(from, from + rowsTogether))))
  return members
}

const chooseRows = ({id, module, subform}: CompiledSubformFlow, members: SubformGroupMember[]): ImportRow[] | EndReason => {
  if (members.length > elementsAtOnce) return TOO_MANY
  const meant = selectRecordRows(members)
  const about = (number: number) => `Row ${number} of flow ${id} belongs to this row and`
  const apart = meant.find(({isIn}) => !isIn)
  if (apart)
    return {
      outcome: 'skipped',
      code: 'ROWS_APART',
      message: `${about(apart.composed.number)} is not in the row range of this run. Run both rows together`,
    }
  const rows = meant.map(({composed}) => composed)
  const broken = rows.find(one => !isRow(one))
  if (broken && !isRow(broken))
    return {
      outcome: broken.question ? 'skipped' : 'failed',
      code: 'ROWS_FAILED',
      message: `${about(broken.number)} ${broken.question ? 'waits for an answer' : 'failed'}. A new record is sent with all its rows: ${broken.question ? "answer the run's questions" : 'correct that row'}, then retry`,
    }
  if (rows.length === 0 && subform.nested === 'required')
    return {
      outcome: 'failed',
      code: 'ROWS_MISSING',
      message: `The record needs a row of ${module.apiName}, and flow ${id} has none for it. Add one, then retry`,
    }
  return rows.filter(isRow)
}

const TOO_MANY: EndReason = {
  outcome: 'failed',
  code: 'BATCH_SIZE',
  message: `More than ${elementsAtOnce} subform rows belong to this row, and one request to the CRM can hold ${elementsAtOnce}. Nothing was written. Split the rows over several records`,
}

/** Settles rows that are not sent because of their subform rows. A row with an unanswered create stays unanswered. */
const settleUnnested = async (pass: Pass, unnested: UnsentRow[]): Promise<void> => {
  const {ctx, flow} = pass
  const settled = emptySettlement()
  for (const {row, why} of unnested) {
    const {attempt} = row
    const isSent = row.open && row.decided?.kind === 'create'
    const message = isSent ? `${why.message}. A create of this row was sent before and never answered` : why.message
    const endReason = isDue(row, flow) ? {outcome: 'skipped' as const, ...staleFailure({message})} : {...why, message}
    logOutcome({flow, settled}, row, isSent ? 'unanswered' : endReason.outcome, {code: endReason.code, message: endReason.message, attempt})
    if (!isSent) closeUnsettled({flow, settled}, row)
    if (isSent && !ctx.run.dryRun)
      settled.opened.push({...unsettledEntryOf(flow, row, {kind: STEP_CODES.create, target: null, attempt}), ended: true})
  }
  await settleRows(
    pass,
    settled,
    unnested.map(({row}) => row),
  )
}
