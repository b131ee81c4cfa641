import {listAcceptedMappings} from '../../sql/accepted-mappings.ts'
import type {Db} from '../../sql/database.ts'
import {type Accepted, type MatchField, type Proposal, proposeMapping} from './matcher/propose.ts'
import {normalForm} from './matcher/words.ts'
import type {Sampled} from './outgoing.ts'
import {keyOf, type Target, type Targets} from './targets.ts'

export type Columns = readonly {name: string; samples: string[]}[]

/**
 * What names, values and the org's own earlier imports say, without a model. Fields that nobody may write are never proposed; they are there to be
 * recognised, so that what belongs to them is not taken for something else.
 */
export const mapLocally = async (
  db: Db,
  org: string,
  columns: Columns,
  known: Pick<Targets, 'targets' | 'closed'>,
): Promise<Proposal[]> => {
  const {targets, closed} = known
  const fields = [...targets.map(describe), ...closed.map(target => ({...describe(target), readOnly: true}))]
  return proposeMapping({columns, fields, accepted: await readAccepted(db, org, targets)})
}

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

/** Far below what would be proposed. */
const worthFearing = 0.05

/**
 * The columns with what is to be kept of them: whatever may go into a field that is annotated as personal is personal, whether it is proposed for it or
 * only might be, whether that field can be written or not, and whichever other column goes there too.
 */
export const judgeColumns = (columns: Columns, {personal}: Pick<Targets, 'personal'>, proposals: readonly Proposal[]): Sampled[] => {
  const annotated = new Set(personal.map(keyOf))
  const fields = personal.map(target => ({...describe(target), readOnly: false}))
  const names = fields.flatMap(({label, apiName, localLabels}) => [label, apiName, ...localLabels].map(wordsOf))
  return columns.map((column, at) => {
    const words = new Set(wordsOf(column.name))
    const isNamed = names.some(name => name.length > 0 && name.every(word => words.has(word)))
    const isMapped = proposals[at]!.candidates.some(({module, field}) => annotated.has(`${module}.${field}`))
    return {...column, pii: isNamed || isMapped || isFeared(column, fields)}
  })
}

/** Alone, since of several only one is proposed for a field, and without its number: of `Phone 2` and `Phone 3` both are telephones. */
const isFeared = ({name, samples}: Columns[number], fields: readonly MatchField[]): boolean => {
  if (fields.length === 0) return false
  const [alone] = proposeMapping({columns: [{name: name.replaceAll(/\d+/g, ' '), samples}], fields})
  return alone!.candidates.some(({confidence}) => confidence > worthFearing)
}

const wordsOf = (name: string): string[] =>
  normalForm(name)
    .split(' ')
    .filter(word => /\D/.test(word))
