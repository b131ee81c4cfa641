import {listAcceptedMappings} from '../../sql/accepted-mappings.ts'
import type {Db} from '../../sql/database.ts'
import {type Accepted, type Proposal, proposeMapping} from './matcher/propose.ts'
import {normalForm} from './matcher/words.ts'
import type {Sampled} from './outgoing.ts'
import type {Target, Targets} from './targets.ts'

export type Columns = readonly {name: string; samples: string[]}[]

/** What names, values and the org's own earlier imports say, without a model. Fields that nobody may write are not among the targets. */
export const mapLocally = async (db: Db, org: string, columns: Columns, targets: readonly Target[]): Promise<Proposal[]> =>
  proposeMapping({columns, fields: targets.map(describe), accepted: await readAccepted(db, org, targets)})

const describe = ({module, field, annotation}: Target) => ({
  ...{module, apiName: field.apiName, label: field.label, dataType: field.type, length: field.length, picklist: field.picklist},
  ...{required: field.required, unique: field.unique !== null, localLabels: annotation?.aliases ?? []},
})

const readAccepted = async (db: Db, org: string, targets: readonly Target[]): Promise<Accepted[]> => {
  const modules = new Map(targets.map(({module, connectorId}) => [`${connectorId} ${module}`, {module, connector: connectorId}]))
  const accepted: Accepted[] = []
  for (const {module, connector} of modules.values())
    for (const {column, field, times} of await listAcceptedMappings(db, {org, connector, module}))
      accepted.push({header: normalForm(column), module, field, times})
  return accepted
}

const worthFearing = 0.2

/**
 * The columns with what is to be kept of them: whatever may go into a field that is annotated as personal is personal, whether it is proposed for it
 * or only might be, and whether that field can be written or not.
 */
export const judgeColumns = (columns: Columns, {personal}: Pick<Targets, 'personal'>, proposals: readonly Proposal[]): Sampled[] => {
  const annotated = new Set(personal.map(({module, field}) => `${module} ${field.apiName}`))
  const apart =
    personal.length > 0 ? proposeMapping({columns, fields: personal.map(target => ({...describe(target), readOnly: false}))}) : []
  return columns.map((column, at) => {
    const mapped = proposals[at]!.candidates.some(({module, field}) => annotated.has(`${module} ${field}`))
    const feared = apart[at]?.candidates.some(({confidence}) => confidence > worthFearing) ?? false
    return {...column, pii: mapped || feared}
  })
}
