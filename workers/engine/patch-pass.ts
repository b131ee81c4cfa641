import type {Row as FileRow} from '../../shared/imports/row.ts'
import {findPatchable, HOW} from '../../sql/chain-rows.ts'
import {finishPass, openPass, PASS} from '../../sql/run-cursors.ts'
import {listPatches} from '../../sql/run-log.ts'
import {composeRows} from './composing.ts'
import type {Context} from './context.ts'
import {assertGoing, type Desk, finish, makeRoom, openDesk, type Prepared, place, rest} from './desk.ts'
import type {LookupNote} from './linking.ts'
import {findKin, linkLate} from './parents.ts'
import {ahead, sizeOf} from './pass.ts'
import type {Patching} from './patching.ts'
import {readFields} from './plan-values.ts'
import {readChunks} from './reading.ts'
import {isSupposed} from './rehearsal.ts'
import {type Failure, isRow, type Row, type Track} from './row.ts'
import {nothingSettled} from './settler.ts'
import {isInRange} from './standing.ts'
import {enter} from './verdict.ts'

const chunksAhead = 2

type PatchTrack = Track & {patching: Patching}
type Patched = Awaited<ReturnType<typeof findPatchable>>[number]
/** What the run has said of a row's patch already. */
type Said = {attempt: number; isOver: boolean}

/**
 * After all flows: what a flow's rows get once every record is there, in the order of its rows. Nothing of it is counted but a row that was
 * not written before, and all of it may be sent again, so an owner that takes the run over begins at the mark.
 */
export const runPatchPass = async (ctx: Context, track: PatchTrack): Promise<void> => {
  const {db, run} = ctx
  const at = {run: run.no, flow: track.no, pass: PASS.patch}
  const {lowWater, done} = await openPass(db, at)
  if (done) return
  const said = new Map((await listPatches(db, {run: run.no, flow: track.no, after: lowWater})).map(({number, ...rest}) => [number, rest]))
  const desk = openDesk(ctx, track, lowWater)
  ctx.settler.follow(() => ({flow: track.no, lowWater: desk.window.lowWater(), pass: PASS.patch}))
  try {
    for await (const prepared of ahead(chunksOf(ctx, track), chunksAhead, chunk => prepare(desk, track, chunk, {lowWater, said}))) {
      await place(desk, prepared)
      await makeRoom(desk)
    }
    await finish(desk)
  } catch (error) {
    desk.failure ??= {error}
  } finally {
    await rest(desk)
  }
  assertGoing(desk)
  await finishPass(db, at)
}

async function* chunksOf(ctx: Context, track: Track): AsyncGenerator<FileRow[]> {
  const last = ctx.snapshot.rows?.to ?? Number.POSITIVE_INFINITY
  for await (const read of readChunks(ctx, track)) {
    if (read[0] && read[0].rowNumber > last) return
    yield read
  }
}

type Resumed = {lowWater: number; said: Map<number, Said>}

/** Rows enter the window in their order before anything is waited for; those that have nothing to be patched leave it again. */
const prepare = async (desk: Desk, track: PatchTrack, chunk: FileRow[], {lowWater, said}: Resumed): Promise<Prepared> => {
  const {ctx, window} = desk
  const entered = chunk.filter(row => {
    const {rowNumber: number, struck} = row
    const isIn = struck === undefined && number > lowWater && isInRange(ctx.snapshot.rows, number) && !said.get(number)?.isOver
    if (isIn) window.enter(number, sizeOf(row))
    else window.passOver(number)
    return isIn
  })
  const records = await findTargets(ctx, track, entered)
  const mine = entered.filter(({rowNumber}) => records.has(rowNumber))
  const composed = await composeRows(ctx, track, mine, new Map())
  const joined = await linkLater(ctx, track, composed, mine)
  const rows = joined.filter(one => isRow(one))
  for (const row of rows) aim(track, row, records.get(row.number)!, said.get(row.number))
  await leaveFilled(ctx, track, rows)
  const [full, empty] = [rows.filter(hasFields), rows.filter(row => !hasFields(row))]
  const failures: Failure[] = joined.flatMap(one => (isRow(one) ? [] : [one]))
  const told = empty.filter(isTold)
  const gone = new Set([...full, ...failures, ...told].map(({number}) => number))
  for (const {rowNumber} of entered) if (!gone.has(rowNumber)) window.leave(rowNumber)
  await settleTold(desk, track, told)
  return {rows: full, failures, unmatched: [], standing: []}
}

const hasFields = ({payload}: Row) => Object.keys(payload).length > 0
/** A row without anything to be written of which something is to be said all the same. */
const isTold = ({notes, attempt}: Row) => attempt > 0 || (notes?.length ?? 0) > 0

/** By row number: the records of this chain's rows that the rules are for. */
const findTargets = async (
  {hot, chain, retried, run}: Context,
  {id, module, patching}: PatchTrack,
  rows: FileRow[],
): Promise<Map<number, Patched>> => {
  if (rows.length === 0) return new Map()
  const named = new Map(rows.map(({rowNumber}) => [`${id}.${rowNumber}`, rowNumber]))
  const found = await findPatchable(hot, {chain, before: retried ?? chain, run: run.no, module: module.no, keys: [...named.keys()]})
  const rules = [...patching.rules.values()]
  return new Map(found.filter(({how}) => rules.some(({hows}) => hows.has(how))).map(one => [named.get(one.key)!, one]))
}

const linkLater = async (ctx: Context, {patching, ...track}: PatchTrack, composed: (Row | Failure)[], rows: FileRow[]) => {
  if (!patching.parent) return composed
  const linking = {...track, parent: patching.parent}
  return linkLate(ctx, linking, composed, await findKin(ctx, linking, rows))
}

/** The row becomes a write of its record, of the fields that rows like it get. */
const aim = ({patching}: PatchTrack, row: Row, {how, recordId}: Patched, said: Said | undefined) => {
  row.payload = Object.fromEntries(Object.entries(row.payload).filter(([field]) => patching.rules.get(field)!.hows.has(how)))
  row.decided = {kind: 'update', target: recordId}
  row.isMetered = how === HOW.matched
  row.attempt = said?.attempt ?? 0
  row.silences = said ? 1 : 0
}

/** Fields that are written only where the record has nothing in them: what it has is read first. */
const leaveFilled = async (ctx: Context, {module, patching}: PatchTrack, rows: Row[]) => {
  const careful = (row: Row) => Object.keys(row.payload).filter(field => patching.rules.get(field)!.onlyAbsent)
  const asking = rows.filter(row => careful(row).length > 0)
  const fields = [...new Set(asking.flatMap(careful))]
  // Of a dry run: a record that is yet to be made has nothing in it.
  const ids = [...new Set(asking.map(({decided}) => decided!.target!))].filter(id => !isSupposed(id))
  const filled = new Set(
    (await readFields(ctx, {module}, {ids, fields})).flatMap(record =>
      fields.filter(field => isFilled(record[field])).map(field => `${record.id} ${field}`),
    ),
  )
  for (const row of asking) for (const field of careful(row)) if (filled.has(`${row.decided!.target} ${field}`)) delete row.payload[field]
}

const isFilled = (value: unknown) =>
  value !== null && value !== undefined && value !== '' && value !== false && !(Array.isArray(value) && value.length === 0)

const PRESENT = 'An earlier send of the patch was not answered; the fields have values now, so it was done or somebody else wrote them'

const noteOf = ({patching}: PatchTrack, {field, code, message}: LookupNote) => ({
  ...{code: field === patching.parent?.field ? 'PARENT_FAILED' : `LOOKUP_${code}`, message, target: field},
})

/** In the place of the send that was not answered, which is so no longer the last word. */
const settleTold = async ({ctx, window}: Desk, track: PatchTrack, rows: Row[]) => {
  if (rows.length === 0) return
  const settled = nothingSettled(null)
  for (const row of rows) {
    const {attempt, notes} = row
    const [note] = notes ?? []
    row.notes = []
    const said = attempt > 0 ? {code: 'PATCH_PRESENT', message: PRESENT} : noteOf(track, note!)
    enter({track, settled}, row, 'skipped', {...said, attempt})
  }
  const leave = () => {
    for (const {number} of rows) window.leave(number)
  }
  await ctx.settler.settle({...settled, leave})
}
