import type {Row as FileRow} from '../../shared/imports/csv-file.ts'
import {listLoggedRows} from '../../sql/run-log.ts'
import {listUnsettled, type Question} from '../../sql/unsettled.ts'
import type {Context} from './context.ts'
import {assertGoing, type Desk, finish, makeRoom, openDesk, type Prepared, place, rest} from './desk.ts'
import {matchRows} from './match.ts'
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
  const resumed = await findResumed(ctx, track, lowWater)
  ctx.settler.follow(() => ({flow: track.no, lowWater: desk.window.lowWater()}))
  try {
    for await (const prepared of ahead(readChunks(ctx, track), chunksAhead, chunk => prepare(desk, chunk, resumed))) {
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

type Resumed = {isDone(number: number): boolean; questions: Map<number, Question>}

/** What an earlier owner left: rows with an end, and rows whose last send nobody answered and which may be sent again. */
const findResumed = async ({db, run}: Context, track: Track, lowWater: number): Promise<Resumed> => {
  const unsettled = await listUnsettled(db, {run: run.no, flow: track.no})
  const logged = new Set(await listLoggedRows(db, {run: run.no, flow: track.no, after: lowWater}))
  // A create without a witness that nobody answered is never sent again: its row stays `unanswered`.
  const questions = new Map(
    unsettled.filter(({kind, witness}) => kind !== KINDS.create || witness).map(question => [question.number, question]),
  )
  return {questions, isDone: number => !questions.has(number) && (number <= lowWater || logged.has(number))}
}

/** Composes a chunk and asks the CRM about it. Its rows enter the window as they are read. */
const prepare = async ({ctx, track, window}: Desk, chunk: FileRow[], {isDone, questions}: Resumed): Promise<Prepared> => {
  const rows: Row[] = []
  const failures: Failure[] = []
  for (const read of chunk) {
    if (isDone(read.rowNumber)) window.passOver(read.rowNumber)
    else {
      window.enter(read.rowNumber)
      const composed = compose(track, read)
      if (isRow(composed)) rows.push(resume(composed, questions.get(read.rowNumber)))
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
