import {keepModuleSize} from '../../../sql/module-sizes.ts'
import type {Context} from '../context.ts'
import {readUnlessRefused} from '../send/crm-retry.ts'

/** Counts the records of a module by one call, and stores the count. Null: the CRM does not say how many there are. */
export const countModule = async (ctx: Context, module: string): Promise<number | null> => {
  const {connection, db, lease} = ctx
  const count = async () => (await connection.countRecords?.(module, {signal: lease.lost})) ?? null
  const records = await readUnlessRefused(ctx, count, ctx.slots.small)
  if (records !== null) await keepModuleSize(db, {connector: connection.connector.id, module, records})
  return records
}
