import {listSends} from '../../sql/sends.ts'
import {listOpenKinds} from '../../sql/unsettled.ts'
import type {Held} from './context.ts'
import {KINDS, type Row} from './row.ts'
import {nothingSettled} from './settler.ts'
import {enter, resendSafe} from './verdict.ts'

const LOST = 'The worker that sent it was lost before an answer came'

type Send = Awaited<ReturnType<typeof listSends>>[number]

/**
 * What a dead owner had in flight may have been done: its rows are written down as unanswered, in one statement a batch, before
 * anything else is sent. Needs nothing but the ledger. `piecewise`: a batch that cannot be told whole is told row by row, and what
 * cannot be told at all is logged and passed over. Answers how many rows were told.
 */
export const closeOpenSends = async (ctx: Held, {piecewise = false} = {}): Promise<number> => {
  let rows = 0
  for (const send of await listSends(ctx.db, ctx.run.no)) {
    const all = [...send.keys.keys()]
    const telling = tell(ctx, send, all, send.batch)
    rows += await (piecewise ? telling.catch(error => tellEach(ctx, send, all, error)) : telling)
  }
  return rows
}

const tell = async (ctx: Held, send: Send, places: number[], batch: number | null): Promise<number> => {
  const {flow, module, kind, keys, numbers, attempts, targets, witness, digests} = send
  const {run, chain} = ctx
  const open = await listOpenKinds(ctx.db, {run: run.no, chain, module, keys: places.map(at => keys[at]!)})
  const counted = new Map(open.map(({key, kind}) => [key, countedAs(kind)]))
  const settled = {...nothingSettled(batch), isProgress: false}
  for (const at of places) {
    const [key, number, attempt, target] = [keys[at]!, numbers[at]!, attempts[at]!, targets[at]!]
    const row = {key, number, counted: counted.get(key) ?? null}
    const patching = kind === KINDS.patch
    const isCreate = kind === KINDS.create
    const said = isCreate && witness[at] ? resendSafe(LOST) : {message: LOST}
    enter({track: {no: flow, module: {no: module}, patching}, settled}, row, 'unanswered', {attempt, recordId: target, ...said})
    const question = {module, key, flow, number, kind, target, witness: witness[at]!, digest: digests?.[at] ?? null, attempt}
    if (!patching) settled.opened.push({...question, creates: Number(isCreate)})
  }
  await ctx.settler.settle(settled)
  return places.length
}

/** A batch of which a row cannot be told stays in the ledger, for people to look at. */
const tellEach = async (ctx: Held, send: Send, places: number[], why: unknown): Promise<number> => {
  const {lease, log} = ctx
  const untold: number[] = []
  for (const at of places) {
    lease.lost.throwIfAborted()
    await tell(ctx, send, [at], null).catch(() => untold.push(send.numbers[at]!))
  }
  lease.lost.throwIfAborted()
  if (untold.length === 0) await ctx.settler.settle({...nothingSettled(send.batch), isProgress: false})
  else log.error({err: why, batch: send.batch, rows: untold}, 'rows in flight that cannot be told')
  return places.length - untold.length
}

/** What a row with an open question is counted as: one that is to be planned again was refused. */
export const countedAs = (kind: number): NonNullable<Row['counted']> => (kind === KINDS.again ? 'refused' : 'unanswered')
