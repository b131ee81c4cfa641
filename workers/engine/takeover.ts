import {listSends} from '../../sql/ledger.ts'
import {listUnsettledKeys} from '../../sql/unsettled.ts'
import type {Offline} from './context.ts'
import {KINDS, type Row, type Track} from './row.ts'
import {nothingSettled} from './settler.ts'
import {enter} from './verdict.ts'

const LOST = 'The worker that sent it was lost before an answer came'

/**
 * What a dead owner had in flight may have been done: its rows are written down as unanswered, in one statement, before anything
 * else is sent. Answers how many rows that were.
 */
export const closeOpenSends = async (ctx: Offline, tracks: Track[]): Promise<number> => {
  const sends = await listSends(ctx.db, ctx.run.no)
  if (sends.length === 0) return 0
  const open = new Map(
    (await listUnsettledKeys(ctx.db, {run: ctx.run.no})).map(({module, key, kind}) => [`${module} ${key}`, countedAs(kind)]),
  )
  let rows = 0
  for (const send of sends) {
    const settled = nothingSettled(send.batch)
    const track = tracks.find(({no}) => no === send.flow)!
    for (const [at, key] of send.keys.entries()) {
      const attempt = send.attempts[at]!
      const number = send.numbers[at]!
      const counted = open.get(`${send.module} ${key}`) ?? null
      const {flow, module, kind} = send
      const target = send.targets[at]!
      enter({track, settled}, {key, number, counted}, 'unanswered', {attempt, recordId: target, message: LOST})
      settled.opened.push({module, key, flow, number, kind, target, witness: send.witness[at]!, attempt})
      rows++
    }
    await ctx.settler.settle(settled)
  }
  return rows
}

/** What a row with an open question is counted as: one that is to be planned again was refused. */
export const countedAs = (kind: number): NonNullable<Row['counted']> => (kind === KINDS.again ? 'refused' : 'unanswered')
