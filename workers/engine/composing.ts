import type {Row as FileRow} from '../../shared/imports/row.ts'
import {listLookedUp} from '../../sql/run-log.ts'
import type {Context} from './context.ts'
import {linkRows} from './linking.ts'
import type {Question} from './questions.ts'
import {compose, type Failure, type Row, type Track} from './row.ts'

/** What each row becomes: its expressions run, its cells converted, its links found. In the order of the rows. */
export const composeRows = async (
  ctx: Context,
  track: Track,
  rows: FileRow[],
  questions: ReadonlyMap<number, Question>,
): Promise<(Row | Failure)[]> => {
  if (!track.program)
    return link(
      ctx,
      track,
      rows.map(row => compose(track, row)),
      questions,
    )
  // A ragged row's cells stand under other columns than they are of.
  const whole = rows.filter(({ragged}) => !ragged)
  const evaluated = await ctx.expressions.evaluate(track.program, whole, ctx.signal)
  const byRow = new Map(whole.map((row, at) => [row, evaluated[at]!]))
  return link(
    ctx,
    track,
    rows.map(row => compose(track, row, byRow.get(row))),
    questions,
  )
}

const link = async (ctx: Context, track: Track, composed: (Row | Failure)[], questions: ReadonlyMap<number, Question>) => {
  if (!track.fillers.some(({link}) => link)) return composed
  const linked = await linkRows(ctx, track, composed)
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
