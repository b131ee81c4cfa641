import type {Row as FileRow} from '../../shared/imports/row.ts'
import {listLookedUp} from '../../sql/run-log.ts'
import type {Context} from './context.ts'
import type {Evaluated} from './expressions.ts'
import {linkRows} from './linking.ts'
import {findKin, linkParents} from './parents.ts'
import type {Question} from './questions.ts'
import {compose, type Failure, type Row, type Track} from './row.ts'

/** What each row becomes: its expressions run, its cells converted, its links found. In the order of the rows. */
export const composeRows = async (
  ctx: Context,
  track: Track,
  rows: FileRow[],
  questions: ReadonlyMap<number, Question>,
): Promise<(Row | Failure)[]> => {
  const evaluated = await evaluateRows(ctx, track, rows)
  return link(ctx, track, {rows, composed: rows.map((row, at) => compose(track, row, evaluated?.[at]))}, questions)
}

/** What the flow's expressions made of each row, in their order; null where it has none. A ragged row's cells stand under other columns than they are of. */
export const evaluateRows = async (
  {expressions, signal}: Pick<Context, 'expressions' | 'signal'>,
  {program}: Pick<Track, 'program'>,
  rows: FileRow[],
): Promise<(Evaluated | undefined)[] | null> => {
  if (!program) return null
  const whole = rows.filter(({ragged}) => !ragged)
  const evaluated = await expressions.evaluate(program, whole, signal)
  const byRow = new Map(whole.map((row, at) => [row, evaluated[at]!]))
  return rows.map(row => byRow.get(row))
}

type Composed = {rows: FileRow[]; composed: (Row | Failure)[]}

const link = async (ctx: Context, track: Track, {rows, composed}: Composed, questions: ReadonlyMap<number, Question>) => {
  if (!track.parent && !track.fillers.some(({link}) => link)) return composed
  const searched = await linkRows(ctx, track, composed)
  const linked = track.parent ? await linkParents(ctx, track, searched, await findKin(ctx, track, rows)) : searched
  await forgetNoted(
    ctx,
    track,
    linked.filter(({number, notes}) => notes && questions.get(number)?.run === ctx.run.no),
  )
  return linked
}

/** What an earlier owner wrote down of a row's links before it left the row open is not written down again. */
const forgetNoted = async ({db, run}: Context, track: Track, open: (Row | Failure)[]) => {
  if (open.length === 0) return
  const noted = await listLookedUp(db, {run: run.no, flow: track.no, numbers: open.map(({number}) => number)})
  const names = new Set(noted.map(({number, field}) => `${number} ${field}`))
  for (const row of open) row.notes = row.notes!.filter(({field}) => !names.has(`${row.number} ${field}`))
}
