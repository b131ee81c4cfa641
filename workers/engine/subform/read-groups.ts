import {mapAhead} from '../../../shared/concurrency/map-ahead.ts'
import {elementsAtOnce} from '../../../shared/crm/subforms.ts'
import type {FileRow} from '../../../shared/files/row.ts'
import {listEnds, OUTCOMES, type OutcomeName} from '../../../sql/run-log.ts'
import {findUnsettled, type UnsettledRow} from '../../../sql/unsettled.ts'
import {composeRows} from '../compose/compose-rows.ts'
import type {ParentRecord} from '../compose/parents.ts'
import type {Context} from '../context.ts'
import {type ImportRow, isRow, type RowFailure, STEP_CODES} from '../model.ts'
import {findInheritedRows, isInRange} from '../recover/inherited-rows.ts'
import {countedAs} from '../recover/settle-open-sends.ts'
import {addSteps} from '../sealed-plan/keep-to-plan.ts'
import type {CompiledSubformFlow, OrderedSubformRow} from './record-order.ts'
import {type GroupVerdict, judgeEach, judgeGroup, judgeTooMany, type SubformGroupMember} from './subform-group.ts'

/** The rows of one record, composed and judged. `parent`: null for rows that belong to no record; they are not sent. */
export type SubformGroup = GroupVerdict & {parent: ParentRecord | null}

const batchesAhead = 2

/**
 * Yields one group after another from the sorted rows. Rows without a record, and the rows of a record that has too many for one request, are
 * yielded in several groups to bound memory.
 */
export async function* readSubformGroups(
  ctx: Context,
  flow: CompiledSubformFlow,
  placed: AsyncGenerator<OrderedSubformRow[]>,
): AsyncGenerator<SubformGroup, void, undefined> {
  let group = openGroup(null)
  for await (const batch of mapAhead(placed, {count: batchesAhead}, rows => prepareMembers(ctx, flow, rows))) {
    for (const {parent, member} of batch) {
      if (group.parent?.recordId !== parent?.recordId) {
        yield closeGroup(group)
        group = openGroup(parent)
      }
      addMember(group, parent, member)
      if (!isLarge(group)) continue
      yield closeGroup(group)
      group = {...openGroup(parent), isTooLarge: group.parent !== null}
    }
  }
  yield closeGroup(group)
}

type OpenGroup = {parent: ParentRecord | null; members: SubformGroupMember[]; rows: number; isTooLarge: boolean}

const openGroup = (parent: ParentRecord | null): OpenGroup => ({parent: parent && {...parent}, members: [], rows: 0, isTooLarge: false})

const addMember = (group: OpenGroup, parent: ParentRecord | null, member: SubformGroupMember) => {
  group.members.push(member)
  if (isRow(member.composed)) group.rows++
  if (parent?.isMade) group.parent!.isMade = true
}

/** Whether the group must be closed: it has too many rows for one request, or `elementsAtOnce` rows that are not sent. */
const isLarge = ({rows, members, isTooLarge, parent}: OpenGroup) =>
  isTooLarge || parent === null ? members.length >= elementsAtOnce : rows > elementsAtOnce

const closeGroup = ({parent, members, rows, isTooLarge}: OpenGroup): SubformGroup => {
  if (parent === null) return {parent, ...judgeEach(members)}
  return {parent, ...(isTooLarge || rows > elementsAtOnce ? judgeTooMany(members) : judgeGroup(parent.recordId, members))}
}

type PreparedMember = {parent: ParentRecord | null; member: SubformGroupMember}

const prepareMembers = async (ctx: Context, flow: CompiledSubformFlow, placed: OrderedSubformRow[]): Promise<PreparedMember[]> => {
  const members = await composeMembers(ctx, flow, placed)
  return placed.map(({parent, end}, at) => ({parent, member: end ? withoutParent(members[at]!, end) : members[at]!}))
}

const withoutParent = (member: SubformGroupMember, end: RowFailure): SubformGroupMember => {
  const {composed, sent} = member
  if (!isRow(composed)) return member
  const {notes, unmapped, step} = composed
  return {
    ...member,
    composed: {...end, ...(step !== undefined && {step}), ...(notes && {notes}), ...(unmapped && {unmapped}), ...(sent && {sent})},
  }
}

/** Composes every row, even one that this run or an earlier run wrote. Such a row is written again if the rows of its record are replaced. */
export const composeMembers = async (ctx: Context, flow: CompiledSubformFlow, rows: FileRow[]): Promise<SubformGroupMember[]> => {
  const {db, run, chain, retried, snapshot} = ctx
  const numbers = rows.map(({rowNumber}) => rowNumber)
  const [ended, unsettled, inherited] = await Promise.all([
    listEnds(db, {run: run.no, flow: flow.no, numbers}),
    findUnsettled(db, {chain: retried ?? chain, flow: flow.no, module: flow.module.no, numbers}),
    findInheritedRows(ctx, flow, numbers),
  ])
  const ends = new Map(ended.map(({number, outcome, attempt}) => [number, {outcome: OUTCOMES[outcome]!, attempt}]))
  const open = new Map(unsettled.map(entry => [entry.number, entry]))
  const composed = await composeRows(ctx, flow, rows, open)
  await addSteps(ctx, flow, 'write', composed)
  return rows.map(({rowNumber}, at) => {
    const one = composed[at]!
    const [end, entry] = [ends.get(rowNumber), open.get(rowNumber)]
    const isDone = hasEnded(run.no, end?.outcome, entry)
    if (isRow(one) && entry) resumeMember(run.no, one, entry)
    if (isRow(one) && end && isDone && (!entry || WRITTEN.has(end.outcome))) continueFrom(one, end)
    return {
      composed: one,
      isIn: isInRange(snapshot.rows, rowNumber),
      isOver: isDone,
      inherited: inherited.get(rowNumber)?.recordId ?? null,
      ...(entry?.kind === STEP_CODES.replace && entry.target === null && {sent: sentBy(run.no, entry)}),
    }
  })
}

/** Continues a row that ended in this run and is written again with its record. A row that was written is not metered again. */
const continueFrom = (row: ImportRow, {outcome, attempt}: {outcome: OutcomeName; attempt: number}) =>
  Object.assign(row, {counted: outcome, attempt, ...(WRITTEN.has(outcome) && {isMetered: false})})

const WRITTEN = new Set<OutcomeName>(['created', 'updated'])

const sentBy = (run: number, {run: by, kind, attempt}: UnsettledRow): SubformGroupMember['sent'] =>
  by === run ? {counted: countedAs(kind), attempt} : {counted: null, attempt: 0}

/** Whether the row is final. An unanswered row is final only if this run makes no further attempt. */
const hasEnded = (run: number, outcome: OutcomeName | undefined, entry: UnsettledRow | undefined) =>
  outcome !== undefined && (outcome !== 'unanswered' || (entry?.run === run && entry.ended))

/**
 * Continues a row that was sent and not answered. The rows of its record are read again before they are replaced. Attempts of earlier runs are
 * not counted.
 */
const resumeMember = (run: number, row: ImportRow, entry: UnsettledRow) => {
  row.open = true
  row.lostUpdate = entry.target
  if (entry.run !== run) return
  Object.assign(row, {counted: countedAs(entry.kind), attempt: entry.attempt, unansweredSends: 1})
}
