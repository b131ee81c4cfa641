import {elementsAtOnce} from '../../shared/crm/subforms.ts'
import {listEnds, OUTCOMES, type Outcome} from '../../sql/run-log.ts'
import {findUnsettled, type Question} from '../../sql/unsettled.ts'
import {composeRows} from './composing.ts'
import type {Context} from './context.ts'
import {type Judged, judgeEach, judgeFamily, judgeTooMany, type Member} from './family.ts'
import type {Belonging} from './parents.ts'
import {ahead} from './pass.ts'
import {isRow, type Row} from './row.ts'
import {findTheirs, isInRange} from './standing.ts'
import type {Placed, SubformTrack} from './subform-order.ts'
import {countedAs} from './takeover.ts'

/** The rows of one record, composed and judged. `parent`: null where they belong to none, and none of them is sent. */
export type Family = Judged & {parent: Belonging | null}

const batchesAhead = 2

/** Family after family, as their rows stand together. At most one of them is held, and of one that is too large a part. */
export async function* readFamilies(
  ctx: Context,
  track: SubformTrack,
  placed: AsyncGenerator<Placed[]>,
): AsyncGenerator<Family, void, undefined> {
  let family = openFamily(null)
  for await (const batch of ahead(placed, batchesAhead, rows => prepare(ctx, track, rows))) {
    for (const {parent, member} of batch) {
      if (family.parent?.recordId !== parent?.recordId) {
        yield close(family)
        family = openFamily(parent)
      }
      join(family, parent, member)
      if (!isLarge(family)) continue
      yield close(family)
      family = {...openFamily(parent), isTooLarge: family.parent !== null}
    }
  }
  yield close(family)
}

type Open = {parent: Belonging | null; members: Member[]; rows: number; isTooLarge: boolean}

const openFamily = (parent: Belonging | null): Open => ({parent: parent && {...parent}, members: [], rows: 0, isTooLarge: false})

const join = (family: Open, parent: Belonging | null, member: Member) => {
  family.members.push(member)
  if (isRow(member.composed)) family.rows++
  if (parent?.isMade) family.parent!.isMade = true
}

/** More than one request takes; or as many as are looked at together, of those that are not sent anyway. */
const isLarge = ({rows, members, isTooLarge, parent}: Open) =>
  isTooLarge || parent === null ? members.length >= elementsAtOnce : rows > elementsAtOnce

const close = ({parent, members, rows, isTooLarge}: Open): Family => {
  if (parent === null) return {parent, ...judgeEach(members)}
  return {parent, ...(isTooLarge || rows > elementsAtOnce ? judgeTooMany(members) : judgeFamily(parent.recordId, members))}
}

type Prepared = {parent: Belonging | null; member: Member}

/** Every row is composed, also one that was written before: where its record's rows are written again, it is written with them. */
const prepare = async (ctx: Context, track: SubformTrack, placed: Placed[]): Promise<Prepared[]> => {
  const {db, run, chain, retried, snapshot} = ctx
  const numbers = placed.map(({rowNumber}) => rowNumber)
  const [ended, questions, theirs] = await Promise.all([
    listEnds(db, {run: run.no, flow: track.no, numbers}),
    findUnsettled(db, {chain: retried ?? chain, flow: track.no, numbers}),
    findTheirs(ctx, track, numbers),
  ])
  const endOf = new Map(ended.map(({number, outcome}) => [number, OUTCOMES[outcome]!]))
  const open = new Map(questions.map(question => [question.number, question]))
  const composed = await composeRows(ctx, track, placed, open)
  return placed.map(({rowNumber, parent, end}, at) => {
    const one = composed[at]!
    if (isRow(one) && open.has(rowNumber)) resume(run.no, one, open.get(rowNumber)!)
    const member = {
      composed: isRow(one) && end ? {...end, ...(one.notes && {notes: one.notes})} : one,
      isIn: isInRange(snapshot.rows, rowNumber),
      isOver: isOver(run.no, endOf.get(rowNumber), open.get(rowNumber)),
      theirs: theirs.get(rowNumber)?.recordId ?? null,
    }
    return {parent, member}
  })
}

/** What was sent and not answered is open, until the run is done with it; everything else said of a row is its end. */
const isOver = (run: number, outcome: Outcome | undefined, question: Question | undefined) =>
  outcome !== undefined && (outcome !== 'unanswered' || (question?.run === run && question.ended))

/** A row that was sent and not answered: the record's rows are read again before they are replaced. Attempts count within one run. */
const resume = (run: number, row: Row, question: Question) => {
  row.open = true
  if (question.run !== run) return
  Object.assign(row, {counted: countedAs(question.kind), attempt: question.attempt, silences: 1})
}
