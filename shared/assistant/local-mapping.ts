import {listAcceptedMappings} from '../../sql/accepted-mappings.ts'
import type {Db} from '../../sql/database.ts'
import {mapYielding} from '../concurrency/map-yielding.ts'
import type {Parsing} from '../files/parser/pool.ts'
import {mapInSlices} from './matcher/map-slices.ts'
import {type Accepted, type LocalProposal, likeness} from './matcher/propose.ts'
import {normalForm} from './matcher/words.ts'
import type {PersonalColumnTest} from './personal-columns.ts'
import type {SampledColumn} from './sample-masking.ts'
import {keyOf, type MappingTarget, type Targets} from './targets.ts'

export type Columns = readonly {name: string; samples: string[]}[]

type LocalMappingDeps = {db: Db; parsing: Parsing}

/** Number of column-field pairs that are compared in about 10 ms. A larger request goes to a parser thread. */
const mostQuick = 200
const isQuick = (columns: readonly unknown[], fields: readonly unknown[]) => columns.length * fields.length <= mostQuick

/**
 * Proposes fields from names, values and the org's earlier imports, without a model. Fields that cannot be written are recognised but not
 * proposed, so that their columns are not mapped to other fields.
 */
export const mapLocally = async (
  {db, parsing}: LocalMappingDeps,
  org: string,
  columns: Columns,
  known: Pick<Targets, 'targets' | 'closed'>,
): Promise<LocalProposal[]> => {
  const {targets, closed} = known
  const fields = [...targets.map(describe), ...closed.map(target => ({...describe(target), readOnly: true}))]
  const request = {columns, fields, accepted: await readAccepted(db, org, targets)}
  return isQuick(columns, fields) ? mapInSlices(request) : parsing.run(org, 'propose', request)
}

const describe = ({module, field, annotation}: MappingTarget) => ({
  module,
  apiName: field.apiName,
  label: field.label,
  dataType: field.type,
  length: field.length,
  picklist: field.picklist,
  required: field.required,
  unique: field.unique !== null,
  localLabels: annotation?.aliases ?? [],
})

const readAccepted = async (db: Db, org: string, targets: readonly MappingTarget[]): Promise<Accepted[]> => {
  const modules = new Map(targets.map(({module, connectorId}) => [`${connectorId} ${module}`, {module, connector: connectorId}]))
  const accepted: Accepted[] = []
  for (const {module, connector} of modules.values())
    for (const {column, field, times} of await listAcceptedMappings(db, {org, connector, module}))
      accepted.push({header: normalForm(column), module, field, times})
  return accepted
}

/** A column with a higher confidence for a personal field is treated as personal. This is far below the confidence of a proposal. */
const worthFearing = 0.05
const mostFeared = 30_000

/** Facts that mark a column as personal. `isSource` tests whether a flow of the import fills a personal field from the column. */
type Personal = Pick<Targets, 'personal'> & {isSource?: PersonalColumnTest}

/**
 * Marks the columns that may contain personal data. A column is marked if a personal field is a candidate for it, was filled from it before, or
 * resembles it. The personal field may be read-only or filled from another column. Columns beyond the limit of comparisons are marked too.
 * `proposals` has one entry per column, or is empty.
 */
export const judgeColumns = async (
  {parsing, org}: {parsing: Parsing; org: string},
  columns: Columns,
  {personal, isSource}: Personal,
  proposals: readonly LocalProposal[],
): Promise<SampledColumn[]> => {
  const annotated = new Set(personal.map(keyOf))
  // Most modules share fields, so equal fields are compared once.
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
  // Each column is compared alone, because a field is proposed for only one column. Numbers are removed, because `Phone 2` and `Phone 3`
  // are both telephones.
  const request = {columns: looked.map(({name, samples}) => ({name: name.replaceAll(/\d+/g, ' '), samples})), fields}
  const feared = await compare(request, request => parsing.run(org, 'likeness', request))
  return mapYielding(columns, (column, at) => {
    const words = new Set(wordsOf(column.name))
    const isNamed = names.some(name => name.every(word => words.has(word)))
    const isMapped = proposals[at]?.candidates.some(({module, field}) => annotated.has(`${module}.${field}`)) || isSource?.(column.name)
    return {...column, pii: isNamed || isMapped === true || sources.has(normalForm(column.name)) || (feared[at] ?? 1) > worthFearing}
  })
}

type Likeness = Parameters<typeof likeness>[0]

const compare = async (request: Likeness, compareInThread: (request: Likeness) => Promise<number[]>): Promise<number[]> => {
  if (request.fields.length === 0) return request.columns.map(() => 0)
  return isQuick(request.columns, request.fields) ? likeness(request) : compareInThread(request)
}

const wordsOf = (name: string): string[] =>
  normalForm(name)
    .split(' ')
    .filter(word => /\D/.test(word))
