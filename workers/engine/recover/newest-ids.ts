import {findNewestId, keepNewestId} from '../../../sql/run-clocks.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {readUnlessRefused} from '../send/crm-retry.ts'

/**
 * Reads the highest record id of the module and stores it for the chain, before the chain's first create in the module. A record with a
 * higher id was created later, even if the CRM's clock was changed meanwhile. Skips modules without a unique field, because the CRM names no
 * duplicates in them. Stores nothing in a dry run, or if the CRM refuses the read.
 */
export const keepNewest = async (ctx: Context, {module, uniqueFields}: CompiledFlow): Promise<void> => {
  const {connection, db, run, chain, lease} = ctx
  const {readNewest} = connection
  if (!readNewest || uniqueFields.length === 0 || run.dryRun) return
  if ((await findNewestId(db, {run: run.no, chain, module: module.no})) !== null) return
  const newest = await readUnlessRefused(ctx, () => readNewest(module.apiName, {signal: lease.lost}))
  if (!newest) return
  await ctx.crmClock.note(newest.clockOffsetMs)
  if (newest.id !== null) await keepNewestId(db, {run: run.no, module: module.no, id: newest.id})
}

/** Returns the id that `keepNewest` stored in a run of the chain, or null. */
export const findNewest = ({db, run, chain}: Context, {module}: CompiledFlow): Promise<string | null> =>
  findNewestId(db, {run: run.no, chain, module: module.no})
