import {listAcceptedFiles} from '../../../sql/data-contracts.ts'
import type {Db} from '../../../sql/database.ts'
import {findSourceOfOrg, type Source} from '../../../sql/sources.ts'
import type {TemplateRow} from '../../../sql/templates.ts'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import {Refusal} from '../../errors.ts'
import type {Parsing} from '../../files/parser/pool.ts'
import {documentOf} from '../templates/template.ts'
import {findKnownNow} from '../templates/template-fields.ts'
import {type AcceptedFile, acceptedFileOf} from './accepted-files.ts'
import {picklistValues} from './check-files.ts'
import type {DataContract} from './contract.ts'
import type {ColumnMeasure} from './measure.ts'
import {commonColumns, listPlainFields, mayBeUnique, proposeSource} from './propose.ts'

type ProposeDeps = {db: Db; parsing: Parsing}
type ContractProposal = {contract: DataContract; files: {slot: string; accepted: number}[]}

/** Stores nothing. A slot without an accepted file gets no expectations. */
export const proposeContract = async ({db, parsing}: ProposeDeps, template: TemplateRow): Promise<ContractProposal> => {
  const {org, id, connectorId} = template
  const {sources: slots, flows} = documentOf(template)
  const accepted = (await listAcceptedFiles(db, {org, template: id})).map(acceptedFileOf)
  const {modules} = await findKnownNow(db, {org, connector: connectorId})
  const sources: DataContract['sources'] = []
  for (const slot of slots) {
    const files = accepted.filter(file => file.slot === slot.slot)
    if (files.length === 0) continue
    const picklists = findPicklists(listPlainFields(flows, slot.slot), modules)
    const measured = await measureNewest({db, parsing}, {org, files, picklists, modules})
    sources.push(proposeSource({slot, files, measured, picklists}))
  }
  const counts = slots.map(({slot}) => ({slot, accepted: accepted.filter(file => file.slot === slot).length}))
  return {contract: {sources}, files: counts}
}

type Picklists = Map<string, {module: string; field: string}>

const findPicklists = (fields: ReturnType<typeof listPlainFields>, modules: Map<string, DiscoveredModule>): Picklists =>
  new Map(
    fields.flatMap(({column, module, field}) =>
      modules.get(module)?.fields.some(({apiName, type}) => apiName === field && type === 'picklist')
        ? [[column, {module, field}] as const]
        : [],
    ),
  )

type NewestFile = {org: string; files: AcceptedFile[]; picklists: Picklists; modules: Map<string, DiscoveredModule>}

/** Measures the columns of the newest accepted file that may be unique or fill a picklist. Empty if the file is no longer stored. */
const measureNewest = async (
  {db, parsing}: ProposeDeps,
  {org, files, picklists, modules}: NewestFile,
): Promise<readonly ColumnMeasure[]> => {
  const source = await findSourceOfOrg(db, {org, id: files[0]!.sourceId})
  if (!source) return []
  const columns = commonColumns(files).flatMap(name => {
    const unique = mayBeUnique(files.flatMap(file => file.columns.filter(column => column.name === name)))
    const picklist = picklists.get(name)
    const values = picklist ? picklistValues(modules, picklist) : null
    return unique || values ? [{name, unique, values, anyCase: true}] : []
  })
  return columns.length === 0 ? [] : measure({parsing}, {org, source, columns})
}

type MeasureNewest = {org: string; source: Source; columns: {name: string; unique: boolean; values: string[] | null; anyCase: boolean}[]}

const measure = async ({parsing}: Pick<ProposeDeps, 'parsing'>, {org, source, columns}: MeasureNewest) => {
  try {
    return (await parsing.run(org, 'measure', {source, columns})).columns
  } catch (error) {
    // Retention may delete the file at any time. The proposal then has no unique columns and no picklists.
    if (error instanceof Refusal && error.code === 'FILE_GONE') return []
    throw error
  }
}
