import type {Row as FileRow} from '../../shared/imports/row.ts'
import {listLoggedRows} from '../../sql/run-log.ts'
import {composeRows} from './composing.ts'
import type {Context} from './context.ts'
import {assertGoing, type Desk, finish, makeRoom, openDesk, type Prepared, place, rest} from './desk.ts'
import {type Filtered, openFiltered} from './filtered.ts'
import {matchRows} from './match.ts'
import {openQuestions, type Question} from './questions.ts'
import {readChunks} from './reading.ts'
import {type Failure, isRow, type Row, type Track} from './row.ts'
import {nothingSettled} from './settler.ts'
import {findTheirs, isInRange, isStanding, resume, type Standing} from './standing.ts'

const chunksAhead = 2

/**
 * One flow over its file, from the cursor on: read, compose, match, plan, send, settle. Resolves when every row has its end;
 * rejects with what ended it early, and then nothing of it is under way any more.
 */
export const runPass = async (ctx: Context, track: Track, lowWater: number): Promise<void> => {
  const desk = openDesk(ctx, track, lowWater)
  const filtered = openFiltered(track)
  const isDone = await findDone(ctx, track, lowWater)
  ctx.settler.follow(() => filtered.under({flow: track.no, lowWater: desk.window.lowWater()}))
  try {
    for await (const prepared of ahead(chunksOf(ctx, track), chunksAhead, chunk => prepare(desk, chunk, {isDone, filtered}))) {
      await place(desk, prepared)
      await makeRoom(desk)
    }
    await finish(desk)
    if (filtered.isOpen()) await ctx.settler.settle(nothingSettled(null))
  } catch (error) {
    desk.failure ??= {error}
  } finally {
    await rest(desk)
  }
  assertGoing(desk)
}

type Chunk = {read: FileRow[]; questions: Map<number, Question>}
type IsDone = (number: number) => boolean

/** Each chunk of the file with what an earlier owner left open of its rows. */
async function* chunksOf(ctx: Context, track: Track): AsyncGenerator<Chunk> {
  const questions = openQuestions(ctx, track)
  const last = ctx.snapshot.rows?.to ?? Number.POSITIVE_INFINITY
  for await (const read of readChunks(ctx, track)) {
    const [first] = read
    if (first && first.rowNumber > last) return
    yield {read, questions: await questions.upTo(read.at(-1)?.rowNumber ?? 0)}
  }
}

/** Rows that an earlier owner brought to their end. Those past the mark were in its window, so there are never many. */
const findDone = async ({db, run}: Context, track: Track, lowWater: number): Promise<IsDone> => {
  const logged = new Set(await listLoggedRows(db, {run: run.no, flow: track.no, after: lowWater}))
  return number => number <= lowWater || logged.has(number)
}

export const sizeOf = ({cells}: FileRow) => cells.reduce((sum, {length}) => sum + length, 0)

type Besides = {isDone: IsDone; filtered: Filtered}

/** Composes a chunk and asks the CRM about it. */
const prepare = async (desk: Desk, {read: chunk, questions}: Chunk, {isDone, filtered}: Besides): Promise<Prepared> => {
  const {ctx, track, window} = desk
  const rows: Row[] = []
  const failures: Failure[] = []
  const standing: Standing[] = []
  const entered = enter(desk, chunk, number => questions.get(number)?.run !== ctx.run.no && isDone(number))
  const theirs = await findTheirs(
    ctx,
    track,
    entered.map(({rowNumber}) => rowNumber),
  )
  const mine = theirs.size ? entered.filter(({rowNumber}) => !theirs.has(rowNumber)) : entered
  for (const composed of [...theirs.values(), ...(await composeRows(ctx, track, mine, questions))]) {
    const question = isStanding(composed) ? undefined : questions.get(composed.number)
    const one = question && !isStanding(composed) ? resume(ctx, track, composed, question) : composed
    if (isStanding(one)) standing.push(one)
    else if (isRow(one)) rows.push(one)
    else if (one.end === 'held') filtered.keepBack(one.number)
    else failures.push(one)
  }
  filtered.leave(window)
  return {rows, failures, standing, unmatched: await matchRows(ctx, track, rows)}
}

/** Rows enter the window in their order, before anything is waited for: other chunks are prepared beside this one. Those that cleaning struck never do. */
const enter = ({ctx, window}: Desk, chunk: FileRow[], isOver: (number: number) => boolean): FileRow[] =>
  chunk.filter(read => {
    const isIn = read.struck === undefined && isInRange(ctx.snapshot.rows, read.rowNumber) && !isOver(read.rowNumber)
    if (isIn) window.enter(read.rowNumber, sizeOf(read))
    else window.passOver(read.rowNumber)
    return isIn
  })

/** Runs `begin` up to `count` items ahead of whoever takes the results, in order. */
export async function* ahead<T, R>(source: AsyncIterable<T>, count: number, begin: (item: T) => Promise<R>): AsyncGenerator<R> {
  const line: Promise<R>[] = []
  try {
    for await (const item of source) {
      const begun = begin(item)
      begun.catch(() => {})
      line.push(begun)
      if (line.length > count) yield await line.shift()!
    }
    while (line.length) yield await line.shift()!
  } finally {
    await Promise.allSettled(line)
  }
}
