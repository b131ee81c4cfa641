import {z} from 'zod'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {parseExpression} from '../expressions/parse.ts'
import {Cleaning} from '../imports/cleaning.ts'
import {expressionsOf, Flow} from './flow.ts'
import {namespacesOf, SnapshotLibrary} from './libraries.ts'
import {extendLineage, Lineage} from './lineage.ts'
import {layLookups, SnapshotLookup} from './lookups.ts'

/** Readers of another build refuse a format above their own (`FROM_FUTURE`). */
export const SNAPSHOT_FORMAT = 4

const Field = z.object({
  apiName: z.string(),
  label: z.string(),
  type: z.string(),
  length: z.number().nullable(),
  decimalPlaces: z.number().nullable().default(null),
  unique: z.boolean(),
  picklist: z.array(z.object({display: z.string(), actual: z.string(), unused: z.literal(true).optional()})),
})

/** By column. `as`: text that looks like numbers is kept as it is, or not. `numbers`: since format 4; without it, as stored. */
const Reading = z.object({
  dateOrder: z.enum(['dmy', 'mdy', 'ymd']).optional(),
  decimalMark: z.enum(['point', 'comma']).optional(),
  as: z.enum(['text', 'number']).optional(),
  numbers: z.enum(['auto', 'displayed', 'stored']).optional(),
})

const SnapshotSource = z.object({
  no: z.number(),
  id: z.string(),
  label: z.string(),
  fileKey: z.string(),
  sha256: z.string(),
  reader: z.unknown(),
  cleaning: Cleaning.optional(),
  /** As cleaning leaves them; the file itself has the first `fileColumns` of them. */
  columns: z.array(z.string()),
  fileColumns: z.number().optional(),
  /** Every row the file has; `struck` of them are not read. */
  rows: z.number(),
  struck: z.number().optional(),
  /** How a column's ambiguous values are read, where a person chose or some value proves it. */
  readings: z.record(z.string(), Reading).optional(),
})
export type SnapshotSource = z.infer<typeof SnapshotSource>

/** At most: which of the struck rows lie in the range is not known before they are read. */
export const rowsToRead = ({rows, struck = 0}: SnapshotSource, {from = 1, to = rows}: RowRange = {}): number =>
  Math.min(rows - struck, Math.max(0, Math.min(to, rows) - from + 1))

/** `namingField`: the one its records are known by, to people. */
const SnapshotModule = z.object({
  no: z.number(),
  apiName: z.string(),
  label: z.string(),
  fields: z.array(Field),
  namingField: z.string().nullable().optional(),
})
export type SnapshotModule = z.infer<typeof SnapshotModule>

/** `searches`: by field, the number of the lookup that finds its record. */
const SnapshotFlow = z.object({
  no: z.number(),
  sourceNo: z.number(),
  moduleNo: z.number(),
  flow: Flow,
  searches: z.record(z.string(), z.number()).default({}),
})
export type SnapshotFlow = z.infer<typeof SnapshotFlow>

/** Row numbers, both of them in it. */
export const RowRange = z
  .strictObject({
    from: z.int().min(1).optional().describe('The number of the first row, from 1; the first there is where it is left out'),
    to: z.int().min(1).optional().describe('The number of the last row; the last there is where it is left out'),
  })
  .refine(({from = 1, to = from}) => from <= to, 'The range ends before it begins')
export type RowRange = z.infer<typeof RowRange>

/** All a run needs to be run again to the letter, whatever becomes of the import, its files or the CRM's fields. */
export const Snapshot = z.object({
  connector: z.string(),
  discovery: z.string(),
  takenAt: z.string(),
  sources: z.array(SnapshotSource),
  modules: z.array(SnapshotModule),
  /** In the order they are run. */
  flows: z.array(SnapshotFlow),
  /** Empty in what was frozen before runs had one. */
  lineage: Lineage.default({modules: [], flows: [], clock: 0, seed: ''}),
  /** The rows it was given; the others are passed over. */
  rows: RowRange.optional(),
  /** The last of the import's decisions that it knows; none where it is 0. */
  decidedUpTo: z.number().default(0),
  lookups: z.array(SnapshotLookup).default([]),
  /** Those that its expressions call, with their sources: whoever publishes or removes one later changes nothing here. */
  libraries: z.array(SnapshotLibrary).default([]),
  /** The org's expression context. */
  context: z.record(z.string(), z.json()).default({}),
})
export type Snapshot = z.infer<typeof Snapshot>

type Taken = {
  connector: string
  discovery: string
  sources: SnapshotSource[]
  flows: Flow[]
  modules: Map<string, DiscoveredModule>
  /** What random numbers of a chain's first run come from. */
  seed: string
  /** Of the run it carries on. */
  before?: Lineage | null
  rows?: RowRange | undefined
  decidedUpTo?: number
  libraries?: SnapshotLibrary[]
  context?: Snapshot['context']
}

/** Modules and flows keep their numbers through a chain; the runs' tables name them by these. */
export const takeSnapshot = ({
  connector,
  discovery,
  sources,
  flows,
  modules,
  before = null,
  rows,
  decidedUpTo = 0,
  ...given
}: Taken): Snapshot => {
  const {clock, seed} = before?.seed ? before : {clock: Date.now(), seed: given.seed}
  const lineage = {...extendLineage(before, {flows, sources}), clock, seed}
  const {lookups, searches} = layLookups(flows, {modules, lineage})
  const names = [...new Set(flows.map(({module}) => module))]
  return {
    connector,
    discovery,
    takenAt: new Date().toISOString(),
    sources,
    modules: names.map(name => shapeModule(modules.get(name)!, lineage.modules.indexOf(name) + 1, flows)),
    flows: flows.map((flow, at) => ({
      no: lineage.flows.findIndex(({id}) => id === flow.id) + 1,
      sourceNo: sources.find(({id}) => id === flow.sourceId)!.no,
      moduleNo: lineage.modules.indexOf(flow.module) + 1,
      flow,
      searches: searches[at]!,
    })),
    lineage,
    ...(rows && {rows}),
    decidedUpTo,
    lookups,
    ...usedIn(flows, given),
  }
}

/** Expressions are the only ones to ask for these. */
const usedIn = (flows: Flow[], {libraries = [], context = {}}: Pick<Taken, 'libraries' | 'context'>) => {
  const parsed = flows.flatMap(expressionsOf).map(source => parseExpression(source, {namespaces: namespacesOf(libraries)}))
  const used = new Set(parsed.flatMap(result => (result.ok ? result.parsed.namespaces : [])))
  return {libraries: libraries.filter(({namespace}) => used.has(namespace)), context: parsed.length ? context : {}}
}

const shapeModule = ({apiName, label, namingField, fields}: DiscoveredModule, no: number, flows: Flow[]): SnapshotModule => {
  const used = new Set(
    flows
      .filter(({module}) => module === apiName)
      .flatMap(flow => [...flow.fields.map(({field}) => field), ...(flow.match?.by ?? []), ...(flow.parent ? [flow.parent.field] : [])]),
  )
  return {
    no,
    apiName,
    label,
    namingField,
    fields: fields
      .filter(field => used.has(field.apiName))
      .map(({apiName, label, type, length, decimalPlaces, unique, picklist}) => ({
        ...{apiName, label, type, length, decimalPlaces, picklist},
        unique: unique !== null,
      })),
  }
}
