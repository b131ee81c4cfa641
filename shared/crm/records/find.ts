import {Refusal} from '../../errors.ts'
import {normalise} from '../../mapping/flows/match-key.ts'
import type {CrmRecord} from '../crm.ts'
import {withName} from './display-name.ts'
import type {OpenModule} from './module.ts'

type Options = {signal: AbortSignal}

/** The record includes subform rows. Throws NOT_FOUND if the CRM has no such record. */
export const readOne = async ({module, connection}: OpenModule, id: string, options: Options): Promise<CrmRecord> => {
  const record = connection.isRecordId(id) ? await connection.readRecord(module.apiName, id, options) : null
  if (!record) throw new Refusal('NOT_FOUND', 'The CRM has no such record')
  return withName(record, module)
}

export const searchByWord = async (
  {module, connection}: OpenModule,
  query: {word: string; page: number; perPage: number},
  options: Options,
): Promise<CrmRecord[]> => (await connection.searchWord({module: module.apiName, ...query}, options)).map(one => withName(one, module))

/**
 * Finds the records whose field equals the value, among the first 2,000 of the CRM's search. The search also finds values that merely contain the
 * value, so the records are compared as in matching.
 */
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
