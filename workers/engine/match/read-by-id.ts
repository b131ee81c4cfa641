import {settleAll} from '../../../shared/concurrency/settle-all.ts'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {Slots} from '../../../shared/crm/limits/slots.ts'
import {readInParts} from '../../../shared/crm/read-in-parts.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {readUnlessRefused, readWithRetry} from '../send/crm-retry.ts'
import {mayBeCut} from './compare-values.ts'

type ById = {ids: string[]; fields: string[]}
type OfModule = Pick<CompiledFlow, 'module'>

/** Reads fields of records by id. One CRM call reads at most a hundred records and, from Zoho, at most fifty fields. The map omits absent records. */
export const readById = (ctx: Context, {module}: OfModule, query: ById): Promise<Map<string, CrmRecord>> =>
  readInParts(ctx.connection, query, part => readWithRetry(ctx, () => readPart(ctx, module, part), ctx.slots.small))

/** Like `readById`, but returns null if the CRM refuses the read permanently. */
export const readByIdUnlessRefused = async (
  ctx: Context,
  {module}: OfModule,
  query: ById,
  slots: Slots = ctx.slots.small,
): Promise<Map<string, CrmRecord> | null> => {
  let isRefused = false
  const records = await readInParts(ctx.connection, query, async part => {
    const read = await readUnlessRefused(ctx, () => readPart(ctx, module, part), slots)
    isRefused ||= read === null
    return read ?? []
  })
  return isRefused ? null : records
}

/**
 * Like `readById`, but with whole texts. The CRM may cut a text when it returns several records. Each record with such a text is read again
 * alone, for one more call. Source: zoho.com/crm/developer/docs/api/v8/get-records.html.
 */
export const readWholeById = async (ctx: Context, flow: OfModule, query: ById): Promise<Map<string, CrmRecord>> => {
  const records = await readById(ctx, flow, query)
  await addWholeTexts(flow, query, records, async id => ({
    whole: await readWithRetry(ctx, () => readOne(ctx, flow.module, id), ctx.slots.small),
  }))
  return records
}

/** Like `readWholeById`, but returns null if the CRM refuses a read permanently. */
export const readWholeUnlessRefused = async (ctx: Context, flow: OfModule, query: ById): Promise<Map<string, CrmRecord> | null> => {
  const records = await readByIdUnlessRefused(ctx, flow, query)
  if (!records) return null
  const isWhole = await addWholeTexts(flow, query, records, id =>
    readUnlessRefused(ctx, async () => ({whole: await readOne(ctx, flow.module, id)}), ctx.slots.small),
  )
  return isWhole ? records : null
}

/** Reads one record. Returns `{whole: null}` if the record is absent, and null if the CRM refuses the read. */
type ReadWhole = (id: string) => Promise<{whole: CrmRecord | null} | null>

/** Reads each record with a possibly cut text again. Removes records that are absent or refused. Returns false if the CRM refused one. */
const addWholeTexts = async ({module}: OfModule, query: ById, records: Map<string, CrmRecord>, read: ReadWhole): Promise<boolean> => {
  const fields = module.fields.filter(({apiName}) => query.fields.includes(apiName))
  const cut = [...records.values()].filter(record => fields.some(field => mayBeCut(field, record[field.apiName])))
  const found = await settleAll(cut.map(async ({id}) => ({id, answer: await read(id)})))
  for (const {id, answer} of found) {
    const whole = answer?.whole
    if (whole) records.set(id, Object.fromEntries(['id', ...query.fields].map(name => [name, whole[name]])) as CrmRecord)
    else records.delete(id)
  }
  return found.every(({answer}) => answer !== null)
}

const readOne = ({connection, lease}: Context, {apiName}: CompiledFlow['module'], id: string) =>
  connection.readRecord(apiName, id, {signal: lease.lost})

const readPart = ({connection, lease}: Context, {apiName}: CompiledFlow['module'], part: ById) =>
  connection.readRecords({module: apiName, ...part}, {signal: lease.lost})
