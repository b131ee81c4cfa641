import type {CrmRecord} from '../crm/crm.ts'
import {Refusal} from '../errors.ts'
import {normalise} from '../flows/match-key.ts'
import {withName} from './display-name.ts'
import type {OpenModule} from './module.ts'

type Options = {signal: AbortSignal}

/** One record with everything of it, its subform rows too. */
export const readOne = async ({module, connection}: OpenModule, id: string, options: Options): Promise<CrmRecord> => {
  const record = connection.isRecordId(id) ? await connection.readRecord(module.apiName, id, options) : null
  if (!record) throw new Refusal('NOT_FOUND', 'The CRM has no such record')
  return withName(record, module)
}

/** One page of what the CRM's free-text search finds. */
export const searchByWord = async (
  {module, connection}: OpenModule,
  query: {word: string; page: number; perPage: number},
  options: Options,
): Promise<CrmRecord[]> => (await connection.searchWord({module: module.apiName, ...query}, options)).map(one => withName(one, module))

/** The records whose field holds this value. The CRM's "equals" also finds what contains it, so all it finds is compared as matching compares. */
export const searchByValue = async (
  {module, connection}: OpenModule,
  {field: name, value}: {field: string; value: string},
  options: Options,
): Promise<CrmRecord[]> => {
  const field = module.fields.find(({apiName}) => apiName === name)
  if (!field) throw new Refusal('INVALID', `The module ${module.apiName} has no field of that name`)
  const wanted = normalise(value, field)
  if (wanted === null) return []
  const found = await connection.searchValue({module: module.apiName, field: name, value: value.trim()}, options)
  return found.filter(record => normalise(record[name], field) === wanted).map(record => withName(record, module))
}
