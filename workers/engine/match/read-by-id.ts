import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {readInParts} from '../../../shared/crm/read-in-parts.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {readUnlessRefused, readWithRetry} from '../send/crm-retry.ts'

type ById = {ids: string[]; fields: string[]}
type OfModule = Pick<CompiledFlow, 'module'>

/** Reads these fields of records by id. Costs one CRM call per hundred records and fifty fields. Absent records are left out. */
export const readById = (ctx: Context, {module}: OfModule, query: ById): Promise<Map<string, CrmRecord>> =>
  readInParts(query, part => readWithRetry(ctx, () => readPart(ctx, module, part), ctx.slots.small))

/** Reads like `readById`. Returns null if the CRM refuses the read permanently. */
export const readByIdUnlessRefused = async (ctx: Context, {module}: OfModule, query: ById): Promise<Map<string, CrmRecord> | null> => {
  let isRefused = false
  const records = await readInParts(query, async part => {
    const read = await readUnlessRefused(ctx, () => readPart(ctx, module, part), ctx.slots.small)
    isRefused ||= read === null
    return read ?? []
  })
  return isRefused ? null : records
}

const readPart = ({connection, lease}: Context, {apiName}: CompiledFlow['module'], part: ById) =>
  connection.readRecords({module: apiName, ...part}, {signal: lease.lost})
