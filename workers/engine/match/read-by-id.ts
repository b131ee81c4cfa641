import {settleAll} from '../../../shared/concurrency/settle-all.ts'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {readUnlessRefused, readWithRetry} from '../send/crm-retry.ts'

/** The CRM's limits on ids and fields per read. Source: zoho.com/crm/developer/docs/api/v8/get-records.html. */
const [idsPerRead, fieldsPerRead] = [100, 50]

type ById = {ids: string[]; fields: string[]}
type OfModule = Pick<CompiledFlow, 'module'>

/** Reads these fields of records by id. Costs one CRM call per hundred records and fifty fields. Absent records are left out. */
export const readById = async (ctx: Context, flow: OfModule, query: ById): Promise<Map<string, CrmRecord>> =>
  merge(await settleAll(readsOf(ctx, flow, query).map(read => readWithRetry(ctx, read, ctx.slots.small))))

/** Reads like `readById`. Returns null if the CRM refuses the read permanently. */
export const readByIdUnlessRefused = async (ctx: Context, flow: OfModule, query: ById): Promise<Map<string, CrmRecord> | null> => {
  const parts = await settleAll(readsOf(ctx, flow, query).map(read => readUnlessRefused(ctx, read, ctx.slots.small)))
  return parts.every(part => part !== null) ? merge(parts) : null
}

const readsOf = ({connection, lease}: Context, {module}: OfModule, {ids, fields}: ById): (() => Promise<CrmRecord[]>)[] =>
  inPieces(ids, idsPerRead).flatMap(some =>
    inPieces(fields, fieldsPerRead).map(
      names => () => connection.readRecords({module: module.apiName, ids: some, fields: names}, {signal: lease.lost}),
    ),
  )

/** Merges the parts of each record. */
const merge = (parts: CrmRecord[][]): Map<string, CrmRecord> => {
  const records = new Map<string, CrmRecord>()
  for (const record of parts.flat()) records.set(record.id, {...records.get(record.id), ...record})
  return records
}

const inPieces = <T>(items: T[], size: number): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size))
