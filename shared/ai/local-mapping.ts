import {setImmediate} from 'node:timers/promises'
import {listAcceptedMappings} from '../../sql/accepted-mappings.ts'
import type {Db} from '../../sql/database.ts'
import {type Accepted, likeness, type MatchField, type Proposal, proposeMapping} from './matcher/propose.ts'
import {normalForm} from './matcher/words.ts'
import type {Sampled} from './outgoing.ts'
import type {PersonalColumnTest} from './personal-columns.ts'
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
  return mapInSlices(columns, fields, await readAccepted(db, org, targets))
}

/** Columns times fields that are held against each other in one go: others wait no longer than a part of a second. */
const mostPairs = 15_000

/** A wide file is mapped a part at a time; a field that an earlier part has is there to be recognised. */
export const mapInSlices = async (columns: Columns, fields: readonly MatchField[], accepted: readonly Accepted[]): Promise<Proposal[]> => {
  const size = Math.max(10, Math.floor(mostPairs / Math.max(1, fields.length)))
  const proposals: Proposal[] = []
  const taken = new Set<string>()
  for (let from = 0; from < columns.length; from += size) {
    if (from > 0) await setImmediate()
    const free = fields.map(field => (taken.has(`${field.module}.${field.apiName}`) ? {...field, readOnly: true} : field))
    const some = proposeMapping({columns: columns.slice(from, from + size), fields: free, accepted})
    for (const {module, field} of some) if (field !== null) taken.add(`${module}.${field}`)
    proposals.push(...some)
  }
  return proposals
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
/** Columns times fields. */
const mostFeared = 30_000

/** `isSource`: whether a flow of the import fills a personal field from a column. */
type Personal = Pick<Targets, 'personal'> & {isSource?: PersonalColumnTest}

/**
 * The columns with what is to be kept of them: whatever may go into a field that is annotated as personal is personal, whether it is proposed for it, was
 * taken for it before or only might be, whether that field can be written or not, and whichever other column goes there too. `proposals`:
 * for each column, or none. Of more columns than are looked at in a moment, the rest are personal.
 */
export const judgeColumns = (columns: Columns, {personal, isSource}: Personal, proposals: readonly Proposal[]): Sampled[] => {
  const annotated = new Set(personal.map(keyOf))
  // Modules have the same fields, mostly.
  const fields = [
    ...new Map(
      personal.map(target => [
        JSON.stringify([target.field.label, target.field.apiName, target.field.type, target.annotation?.aliases]),
        target,
      ]),
    ).values(),
  ].map(target => ({...describe(target), readOnly: false}))
  const looked = columns.slice(0, Math.floor(mostFeared / Math.max(1, fields.length)))
  const names = fields
    .flatMap(({label, apiName, localLabels}) => [label, apiName, ...localLabels].map(wordsOf))
    .filter(({length}) => length > 0)
  const sources = new Set(personal.flatMap(one => one.sources ?? []).map(normalForm))
  // Alone, since of several only one is proposed for a field, and without its number: of `Phone 2` and `Phone 3` both are telephones.
  const feared = likeness({columns: looked.map(({name, samples}) => ({name: name.replaceAll(/\d+/g, ' '), samples})), fields})
  return columns.map((column, at) => {
    const words = new Set(wordsOf(column.name))
    const isNamed = names.some(name => name.every(word => words.has(word)))
    const isMapped = proposals[at]?.candidates.some(({module, field}) => annotated.has(`${module}.${field}`)) || isSource?.(column.name)
    return {...column, pii: isNamed || isMapped === true || sources.has(normalForm(column.name)) || (feared[at] ?? 1) > worthFearing}
  })
}

const wordsOf = (name: string): string[] =>
  normalForm(name)
    .split(' ')
    .filter(word => /\D/.test(word))
