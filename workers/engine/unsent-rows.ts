import {HOW} from '../../sql/chain-rows.ts'
import type {Context} from './context.ts'
import type {Failure, Row, Track} from './row.ts'
import {nothingSettled, type Settled} from './settler.ts'
import type {Standing} from './standing.ts'
import {enter, noteTwice} from './verdict.ts'
import type {Window} from './window.ts'

type Pass = {ctx: Pick<Context, 'settler' | 'run'>; track: Track; window: Pick<Window, 'leave'>}

type FailedRow = Omit<Failure, 'key' | 'number'> & {row: Pick<Row, 'key' | 'number' | 'counted' | 'attempt' | 'open' | 'notes'>}

/** Settles rows that cannot be sent, each with its code and message. */
export const settleFailures = async (pass: Pass, failed: FailedRow[]): Promise<void> => {
  const {track} = pass
  const settled = nothingSettled(null)
  for (const {row, code, message, target, end, asks} of failed) {
    if (asks) settled.asked.push(asks)
    enter({track, settled}, row, end === 'skipped' ? 'skipped' : 'failed', {code, message, target, attempt: row.attempt})
    if (row.open) settled.closed.push({module: track.module.no, key: row.key})
  }
  await settleRows(
    pass,
    settled,
    failed.map(({row}) => row),
  )
}

/** Settles rows that an earlier run of the chain wrote, and rows whose create of an earlier run stays unanswered. */
export const settleStanding = async (pass: Pass, standing: Standing[]): Promise<void> => {
  const {ctx, track} = pass
  const settled = nothingSettled(null)
  for (const {row, outcome, mayExistTwice, question, ...said} of standing) {
    enter({track, settled}, row, outcome, {...said, attempt: row.attempt})
    if (mayExistTwice) noteTwice({track, settled}, row, said)
    if (question && !ctx.run.dryRun) settled.opened.push(question)
  }
  await settleRows(
    pass,
    settled,
    standing.map(({row}) => row),
  )
}

/** Commits the settlement; the rows leave the window on commit. */
export const settleRows = ({ctx, window}: Pass, settled: Settled, rows: Pick<Row, 'number'>[]): Promise<void> => {
  const leave = () => {
    for (const {number} of rows) window.leave(number)
  }
  return ctx.settler.settle({...settled, leave})
}

/** Builds the chain entry of a record that a row matched but did not write. */
export const matchedOf = ({module}: Track, {key, matchKey}: Row, recordId: string) => ({
  ...{module: module.no, key, recordId, how: HOW.matched, matchKey},
})
