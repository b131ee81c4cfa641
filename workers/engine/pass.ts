import type {Row as FileRow} from '../../shared/imports/row.ts'
import {listLoggedRows} from '../../sql/run-log.ts'
import type {Context} from './context.ts'
import {assertGoing, type Desk, finish, makeRoom, openDesk, type Prepared, place, rest} from './desk.ts'
import {matchRows} from './match.ts'
import {openQuestions, type Question} from './questions.ts'
import {readChunks} from './reading.ts'
import {compose, type Failure, isRow, KINDS, type Row, type Track} from './row.ts'
import {countedAs} from './takeover.ts'

const chunksAhead = 2

/**
 * One flow over its file, from the cursor on: read, compose, match, plan, send, settle. Resolves when every row has its end;
 * rejects with what ended it early, and then nothing of it is under way any more.
 */
export const runPass = async (ctx: Context, track: Track, lowWater: number): Promise<void> => {
  const desk = openDesk(ctx, track, lowWater)
  const isDone = await findDone(ctx, track, lowWater)
  ctx.settler.follow(() => ({flow: track.no, lowWater: desk.window.lowWater()}))
  try {
    for await (const prepared of ahead(chunksOf(ctx, track), chunksAhead, chunk => prepare(desk, chunk, isDone))) {
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
}

type Chunk = {read: FileRow[]; questions: Map<number, Question>}
type IsDone = (number: number) => boolean

/** Each chunk of the file with what an earlier owner left open of its rows. */
async function* chunksOf(ctx: Context, track: Track): AsyncGenerator<Chunk> {
  const questions = openQuestions(ctx, track)
  for await (const read of readChunks(ctx, track)) yield {read, questions: await questions.upTo(read.at(-1)?.rowNumber ?? 0)}
}

/** Rows that an earlier owner brought to their end. Those past the mark were in its window, so there are never many. */
const findDone = async ({db, run}: Context, track: Track, lowWater: number): Promise<IsDone> => {
  const logged = new Set(await listLoggedRows(db, {run: run.no, flow: track.no, after: lowWater}))
  return number => number <= lowWater || logged.has(number)
}

const sizeOf = ({cells}: FileRow) => cells.reduce((sum, {length}) => sum + length, 0)

/** Composes a chunk and asks the CRM about it. Its rows enter the window as they are read; those that cleaning struck never do. */
const prepare = async ({ctx, track, window}: Desk, {read: chunk, questions}: Chunk, isDone: IsDone): Promise<Prepared> => {
  const rows: Row[] = []
  const failures: Failure[] = []
  for (const read of chunk) {
    const question = questions.get(read.rowNumber)
    if (read.struck !== undefined || (!question && isDone(read.rowNumber))) window.passOver(read.rowNumber)
    else {
      window.enter(read.rowNumber, sizeOf(read))
      const composed = compose(track, read)
      if (isRow(composed)) rows.push(resume(composed, question))
      else failures.push(composed)
    }
  }
  return {rows, failures, unmatched: await matchRows(ctx, track, rows)}
}

/** A row whose last send was not answered keeps the step it was sent for: matched again, it would find its own lost record. */
const resume = (row: Row, question: Question | undefined): Row => {
  if (!question) return row
  const again = question.kind === KINDS.again
  return {
    ...row,
    attempt: question.attempt,
    open: true,
    counted: countedAs(question.kind),
    silences: again ? 0 : 1,
    decided: again ? null : {kind: question.kind === KINDS.update ? 'update' : 'create', target: question.target},
  }
}

/** Runs `begin` up to `count` items ahead of whoever takes the results, in order. */
async function* ahead<T, R>(source: AsyncIterable<T>, count: number, begin: (item: T) => Promise<R>): AsyncGenerator<R> {
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
