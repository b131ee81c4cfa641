import {settleAll} from '../../../shared/concurrency/settle-all.ts'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {readInParts} from '../../../shared/crm/read-in-parts.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {readUnlessRefused, readWithRetry} from '../send/crm-retry.ts'
import {mayBeCut} from './compare-values.ts'

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

/**
 * Reads like `readById`, with whole texts. A text that a read of several records may have cut is read again with its record alone, which costs
 * one call per record. Source: zoho.com/crm/developer/docs/api/v8/get-records.html.
 */
export const readWholeById = async (ctx: Context, flow: OfModule, query: ById): Promise<Map<string, CrmRecord>> => {
  const {module} = flow
  const records = await readById(ctx, flow, query)
  const fields = module.fields.filter(({apiName}) => query.fields.includes(apiName))
  const cut = [...records.values()].filter(record => fields.some(field => mayBeCut(field, record[field.apiName])))
  await settleAll(
    cut.map(async ({id}) => {
      const whole = await readWithRetry(ctx, () => readOne(ctx, module, id), ctx.slots.small)
      if (whole) records.set(id, Object.fromEntries(['id', ...query.fields].map(name => [name, whole[name]])) as CrmRecord)
      else records.delete(id)
    }),
  )
  return records
}

const readOne = ({connection, lease}: Context, {apiName}: CompiledFlow['module'], id: string) =>
  connection.readRecord(apiName, id, {signal: lease.lost})

const readPart = ({connection, lease}: Context, {apiName}: CompiledFlow['module'], part: ById) =>
  connection.readRecords({module: apiName, ...part}, {signal: lease.lost})
