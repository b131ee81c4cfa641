import type {CompiledFlow, ImportRow} from '../model.ts'
import type {NestedRows} from '../send/nested-rows.ts'

type PredictedRefusal = {code: string; message: string}
type Write = {flow: Pick<CompiledFlow, 'module' | 'layout'>; row: Pick<ImportRow, 'payload'> & {nested?: NestedRows[]}; isCreate: boolean}

/**
 * Returns the refusal of a write that the CRM is certain to refuse, because the write leaves a required field empty. Null: no such refusal is
 * known. The CRM has one code for one missing field and another for several. Source: the vendor's page Insert Records, possible errors.
 */
export const predictRefusal = ({flow, row, isCreate}: Write): PredictedRefusal | null => {
  const own = listMissing(flow, row, isCreate)
  const ofLayout = isCreate ? listMissingOfLayout(flow, row).filter(name => !own.includes(name)) : []
  const missing = [...own, ...ofLayout]
  if (missing.length > 0)
    return {code: codeOf(missing), message: describeMissing(missing, own.length > 0 ? 'the CRM' : `the layout ${flow.layout!.name}`)}
  for (const {flow: nest, rows} of row.nested ?? []) {
    const refusal = predictGroupRefusal(nest, rows)
    if (refusal) return refusal
  }
  return null
}

/** Returns the refusal of subform rows that are written together. The CRM refuses all rows if it refuses one. Null: no refusal is known. */
export const predictGroupRefusal = (
  flow: Pick<CompiledFlow, 'module'>,
  rows: Pick<ImportRow, 'key' | 'payload'>[],
): PredictedRefusal | null => {
  for (const row of rows) {
    const missing = listMissing(flow, row, true)
    if (missing.length > 0) return {code: codeOf(missing), message: `Row ${row.key}: ${describeMissing(missing)}`}
  }
  return null
}

/** Lists the required fields that a write leaves empty: a create lacks them and they have no default, or the write clears them. */
const listMissing = ({module}: Pick<CompiledFlow, 'module'>, {payload}: Pick<ImportRow, 'payload'>, isCreate: boolean): string[] =>
  module.fields.flatMap(({apiName, required, hasDefault}) => {
    if (!required) return []
    const value = payload[apiName]
    return value === null || (value === undefined && isCreate && !hasDefault) ? [apiName] : []
  })

/** Lists the fields that the flow's layout requires and a create leaves empty. The CRM checks them only in creates that name the layout. */
const listMissingOfLayout = ({module, layout}: Write['flow'], {payload}: Pick<ImportRow, 'payload'>): string[] =>
  (layout?.requires ?? []).filter(name => {
    const hasDefault = module.fields.find(({apiName}) => apiName === name)?.hasDefault
    return payload[name] === null || (payload[name] === undefined && !hasDefault)
  })

const codeOf = ({length}: string[]) => (length > 1 ? 'MULTIPLE_OR_MULTI_ERRORS' : 'MANDATORY_NOT_FOUND')

const describeMissing = (missing: string[], who = 'the CRM') =>
  `${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} empty, and ${who} requires ${missing.length > 1 ? 'them' : 'it'}`
