import type {Field} from '../imports/fields.ts'
import type {Flow, Imported, Mapping} from '../imports/import.ts'
import {entriesOf} from '../imports/value-entries.ts'

/** A flow whose written rows a new run would create again. `matchBy` is the field to match by instead, or null if none prevents that. */
type RepeatingFlow = {flow: string; module: string; matchBy: Field | null}
type MappedImport = Pick<Imported, 'flows' | 'sources'>

/**
 * Lists the flows whose written rows a new run over all rows would create again. A flow is safe only if every row finds its record: it
 * matches by fields that no row leaves empty, because a row without a match value is always created. Subform rows are replaced with their
 * parent, so their flows are safe.
 */
export const findRepeatingFlows = (found: MappedImport, fields: ReadonlyMap<string, Field[]> = new Map()): RepeatingFlow[] =>
  found.flows
    .filter(flow => !flow.subform && !findsEveryRecord(found, flow))
    .map(flow => ({flow: flow.id, module: flow.module, matchBy: recommendMatch(found, flow, fields.get(flow.module) ?? [])}))

const findsEveryRecord = (found: MappedImport, flow: Flow): boolean =>
  flow.match != null && flow.match.onOne !== 'create' && flow.match.by.every(name => isAlwaysFilled(found, flow, name))

/** Whether each row has a value for the field. A transform or a value map may empty a value, so its result is not relied on. */
const isAlwaysFilled = ({sources}: MappedImport, {sourceId, fields}: Flow, name: string): boolean => {
  const mapping = fields.find(({field}) => field === name)
  if (mapping?.mode === 'static') return !isEmptying(mapping.staticValue ?? '')
  if (mapping?.mode !== 'column' || mapping.transform || mapEmpties(mapping)) return false
  const column = sources.find(({id}) => id === sourceId)?.columns.find(one => one.name === mapping.source)
  return column?.empties === 0
}

const mapEmpties = (mapping: Mapping): boolean => {
  const entries = entriesOf(mapping)
  return entries !== null && (mapping.otherwise === 'empty' || entries.some(({to}) => isEmptying(to)))
}

/** Whether a value leaves a field empty: it is blank, or the token that clears a field. */
const isEmptying = (value: string): boolean => ['', '\\N'].includes(value.trim())

/** Returns the field to match by: a filled unique field, else the filled field by which the CRM itself finds duplicates. */
const recommendMatch = (found: MappedImport, flow: Flow, fields: readonly Field[]): Field | null => {
  const filled = fields.filter(({apiName}) => isAlwaysFilled(found, flow, apiName) && isFromColumn(flow, apiName))
  const usual = duplicateCheckFields[flow.module] ?? 'Name'
  return filled.find(({unique}) => unique !== null) ?? filled.find(({apiName}) => apiName === usual) ?? null
}

const isFromColumn = ({fields}: Flow, name: string) => fields.some(({field, mode}) => field === name && mode === 'column')

/** The field that identifies a record of a standard module. Custom modules use Name. Source: the system fields of Zoho's upsert. */
const duplicateCheckFields: Record<string, string> = {
  Leads: 'Email',
  Contacts: 'Email',
  Accounts: 'Account_Name',
  Deals: 'Deal_Name',
  Campaigns: 'Campaign_Name',
  Cases: 'Subject',
  Solutions: 'Solution_Title',
  Products: 'Product_Name',
  Vendors: 'Vendor_Name',
  Price_Books: 'Price_Book_Name',
  Quotes: 'Subject',
  Sales_Orders: 'Subject',
  Purchase_Orders: 'Subject',
  Invoices: 'Subject',
}

/** Joins module names for a sentence, each once. */
export const sayModules = (flows: readonly Pick<RepeatingFlow, 'module'>[]): string =>
  [...new Set(flows.map(({module}) => module.replaceAll('_', ' ')))].join(' and ')
