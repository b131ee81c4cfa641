import {listAcceptedFiles} from '../../../sql/data-contracts.ts'
import type {Db} from '../../../sql/database.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../../sql/discoveries.ts'
import type {Source} from '../../../sql/sources.ts'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import type {Parsing} from '../../files/parser/pool.ts'
import {type Breach, findBreaches} from './breach.ts'
import type {ColumnExpectations, DataContract, SourceContract} from './contract.ts'
import type {FileMeasure, MeasuredColumn} from './measure.ts'

type FileToCheck = {slot: string; source: Source}
type CheckDeps = {db: Db; parsing: Parsing}
type CheckInput = {org: string; template: string; connector: string; contract: DataContract; files: readonly FileToCheck[]}

/** Measures only files whose template slot the contract names. */
export const checkFiles = async ({db, parsing}: CheckDeps, {org, template, connector, contract, files}: CheckInput): Promise<Breach[]> => {
  const accepted = await listAcceptedFiles(db, {org, template})
  const modules = await readPicklists(db, connector, contract)
  const breaches: Breach[] = []
  for (const expected of contract.sources) {
    const file = files.find(({slot}) => slot === expected.slot)
    if (!file) continue
    const columns = measuredColumns(expected, modules)
    const measure: FileMeasure = await parsing.run(org, 'measure', {source: file.source, columns})
    const rows = accepted.filter(one => one.slot === expected.slot && one.sourceId !== file.source.id).map(one => one.rows)
    breaches.push(...findBreaches(expected, {label: file.source.label, measure, accepted: rows}))
  }
  return breaches
}

type Modules = Map<string, DiscoveredModule>

const measuredColumns = ({columns}: SourceContract, modules: Modules): MeasuredColumn[] =>
  columns.map(column => ({
    name: column.name,
    unique: column.unique,
    values: allowedValues(column, modules),
    // A run finds the option of a picklist in any letter case.
    anyCase: column.picklist !== null,
  }))

/**
 * Null: any value is allowed. If the newest discovery lacks the picklist, any value is allowed, because the template's check reports the missing
 * picklist.
 */
const allowedValues = ({values, picklist}: Pick<ColumnExpectations, 'values' | 'picklist'>, modules: Modules): string[] | null => {
  if (picklist === null) return values
  return picklistValues(modules, picklist)
}

export const picklistValues = (modules: Modules, {module, field}: {module: string; field: string}): string[] | null => {
  const found = modules.get(module)?.fields.find(({apiName}) => apiName === field)
  const options = found?.picklist ?? []
  return options.length === 0 ? null : [...new Set(options.flatMap(({display, actual}) => [display, actual]))]
}

const readPicklists = async (db: Db, connector: string, {sources}: DataContract): Promise<Modules> => {
  if (!sources.some(({columns}) => columns.some(({picklist}) => picklist !== null))) return new Map()
  const discovery = await findLatestDiscovery(db, connector)
  const modules = discovery ? await listDiscoveredModules(db, discovery.id) : []
  return new Map(modules.map(module => [module.apiName, module]))
}
