import {atPoint} from '../../shared/fault-point.ts'
import {limitStop} from '../../shared/runs/stop.ts'
import {HOW} from '../../sql/chain-rows.ts'
import type {Context} from './context.ts'
import {RunStopped} from './ending.ts'
import {compareValues} from './plan-values.ts'
import type {Kind, Row, Track} from './row.ts'
import type {Sent} from './sender.ts'
import {nothingSettled} from './settler.ts'
import {enter, type Op} from './verdict.ts'

/** What a dry run calls the record that a row would make. No CRM's id looks like it. */
const supposedOf = ({key}: Row) => `row:${key}`
export const isSupposed = (recordId: string) => recordId.startsWith('row:')

/**
 * A dry run's batch: what would be sent is written down as planned, with the record each row would have, so that later rows meet it. The
 * rows are held against the run's limit as if none of them were refused; where a run would stop, this one does.
 */
export const rehearse = async (ctx: Context, track: Track, kind: Kind, ops: Op[], leave: (row: Row) => void): Promise<Sent> => {
  const {run, planned} = ctx
  const taken = takeFitting(ops, run.rowsLimit - planned.count)
  planned.count += taken.filter(isMetered).length
  await ctx.values.keep(await compareValues(ctx, track, taken))
  const settled = nothingSettled(null)
  for (const {row, target} of taken) {
    const recordId = target === null || isSupposed(target) ? null : target
    const message = target !== null && isSupposed(target) ? `update of the record that row ${rowOf(target)} would make` : kind
    enter({track, settled}, row, 'planned', {attempt: 1, recordId, message, ...(row.lost && {code: 'SENT_BEFORE'})})
    const how = kind === 'create' ? HOW.made : HOW.updated
    if (track.patching) continue
    settled.kept.push({module: track.module.no, key: row.key, recordId: target ?? supposedOf(row), how, matchKey: row.matchKey})
  }
  settled.leave = () => {
    for (const {row} of taken) leave(row)
  }
  atPoint('before_settle')
  ctx.lease.lost.throwIfAborted()
  if (taken.length) await ctx.settler.settle(settled)
  const ending = taken.length < ops.length ? new RunStopped(limitStop({...run, counted: planned.count})) : null
  return {next: new Map(taken.map(({row}) => [row, 'end'])), unsent: [], ending}
}

const isMetered = ({row}: Op) => row.isMetered !== false

/** In their order, until the next one would be counted and there is no room. */
const takeFitting = (ops: Op[], room: number): Op[] => {
  const sorted = ops.toSorted((a, b) => a.row.number - b.row.number)
  let counted = 0
  const past = sorted.findIndex(op => isMetered(op) && ++counted > room)
  return past < 0 ? sorted : sorted.slice(0, past)
}

export const rowOf = (supposed: string) => supposed.slice(supposed.lastIndexOf('.') + 1)
