import {z} from 'zod'
import type {DiscoveredField, DiscoveredModule} from '../../crm/discovered.ts'
import {parseExpression} from '../../expressions/parse.ts'
import {Cleaning} from '../../files/cleaning/cleaning.ts'
import {deletes} from './delete.ts'
import {type EditSettings, resolveEdits, SnapshotEdits} from './edits.ts'
import {conversionTypeOf} from './field-types.ts'
import {expressionsOf, Flow} from './flow.ts'
import {namespacesOf, SnapshotLibrary} from './libraries.ts'
import {extendLineage, Lineage} from './lineage.ts'
import {compileLookups, SnapshotLookup} from './lookups.ts'
import {findLayoutLimits, writeOptions} from './write-options.ts'

/** The newest snapshot format. A build refuses snapshots of newer formats (`FROM_FUTURE`). */
export const SNAPSHOT_FORMAT = 10

/**
 * Returns the oldest format that has everything the run uses, so that previous builds can execute the run. Format 5 has nested rows. Format 6 has
 * write options, value maps, edited values and idempotency fields. Format 7 has deletes, format 8 run routes, format 9 readers with `decimals`,
 * format 10 readers with `openQuotes`.
 */
export const formatOf = ({flows, modules, sources}: Pick<Snapshot, 'flows' | 'modules' | 'sources'>): number => {
  const hasOption = (name: string) => sources.some(({reader}) => (reader as Record<string, unknown>)[name])
  if (hasOption('openQuotes')) return SNAPSHOT_FORMAT
  if (hasOption('decimals')) return 9
  if (flows.some(({flow}) => flow.matchBy || flow.writeBy)) return 8
  if (flows.some(({flow}) => deletes(flow))) return 7
  if (modules.some(({idempotencyField}) => idempotencyField)) return 6
  if (flows.some(({edits, flow}) => edits || statesEdits(flow) || statesOptions(flow) || mapsValues(flow))) return 6
  return flows.some(({nested}) => nested) ? 5 : 4
}

const statesOptions = (flow: Flow) => Object.keys(writeOptions).some(name => name in flow)
const mapsValues = ({fields}: Flow) => fields.some(({values}) => values != null)
const statesEdits = ({match, fields}: Flow) => Boolean(match?.onEdited || match?.onUnknown || fields.some(({onEdited}) => onEdited))

const Field = z.object({
  apiName: z.string(),
  label: z.string(),
  type: z.string(),
  length: z.number().nullable(),
  decimalPlaces: z.number().nullable().default(null),
  unique: z.boolean(),
  /** Whether the CRM refuses a create without a value of the field, and an update that clears the field. Absent in older snapshots. */
  required: z.literal(true).optional(),
  /** Whether the CRM fills the field if a create omits it. Older snapshots never set this for a field that only a layout requires. */
  hasDefault: z.literal(true).optional(),
  picklist: z.array(z.object({display: z.string(), actual: z.string(), unused: z.literal(true).optional()})),
})

/**
 * How the values of one column are read. `as`: whether text that looks like a number is kept as text. `numbers`: since format 4; if absent,
 * numbers are read as stored.
 */
const Reading = z.object({
  dateOrder: z.enum(['dmy', 'mdy', 'ymd']).optional(),
  decimalMark: z.enum(['point', 'comma']).optional(),
  as: z.enum(['text', 'number']).optional(),
  numbers: z.enum(['auto', 'displayed', 'stored']).optional(),
  /** The org's date format, for a column whose date order is decided neither by a person nor by the values. */
  dateFormat: z.string().optional(),
})

const SnapshotSource = z.object({
  no: z.number(),
  id: z.string(),
  label: z.string(),
  fileKey: z.string(),
  sha256: z.string(),
  reader: z.unknown(),
  cleaning: Cleaning.optional(),
  /** Columns after cleaning. The first `fileColumns` of them are the columns of the file. */
  columns: z.array(z.string()),
  fileColumns: z.number().optional(),
  /** `rows`: all rows of the file. `struck`: the number of rows that cleaning excludes. */
  rows: z.number(),
  struck: z.number().optional(),
  /** How the values of each column are read: as a user chose, as the values prove, or by the org's date format. */
  readings: z.record(z.string(), Reading).optional(),
})
export type SnapshotSource = z.infer<typeof SnapshotSource>

/** Returns the maximum number of rows to read. The exact number is unknown before the file is read, because excluded rows may be anywhere. */
export const rowsToRead = ({rows, struck = 0}: SnapshotSource, {from = 1, to = rows}: RowRange = {}): number =>
  Math.min(rows - struck, Math.max(0, Math.min(to, rows) - from + 1))

/**
 * `namingField`: the field by which users recognise records. `idempotencyField`: the field that every create fills with the row's idempotency value.
 */
const SnapshotModule = z.object({
  no: z.number(),
  apiName: z.string(),
  label: z.string(),
  fields: z.array(Field),
  namingField: z.string().nullable().optional(),
  idempotencyField: z.string().optional(),
})
export type SnapshotModule = z.infer<typeof SnapshotModule>

/**
 * `searches`: the numbers of lookups by field. `nested`: set if subform rows are sent in the create of a new parent. With `required`, the CRM creates
 * no parent without rows; with `layout`, only a layout requires rows, so the CRM decides. The property `layout`: the mapped fields that are not on
 * the flow's layout, and the fields that the layout requires. `edits`: absent if every value is overwritten.
 */
const SnapshotFlow = z.object({
  no: z.number(),
  sourceNo: z.number(),
  moduleNo: z.number(),
  flow: Flow,
  searches: z.record(z.string(), z.number()).default({}),
  nested: z.enum(['required', 'layout']).optional(),
  layout: z.object({name: z.string(), drops: z.array(z.string()), requires: z.array(z.string())}).optional(),
  edits: SnapshotEdits.optional(),
})
export type SnapshotFlow = z.infer<typeof SnapshotFlow>

export const RowRange = z
  .strictObject({
    from: z.int().min(1).optional().describe('Number of the first row, from 1. Default: the first row'),
    to: z.int().min(1).optional().describe('Number of the last row. Default: the last row'),
  })
  .refine(({from = 1, to = from}) => from <= to, 'The last row of a range cannot be before its first row')
export type RowRange = z.infer<typeof RowRange>

/** All data that a run needs to be repeated exactly, even if the import, its files or the CRM's fields change. */
export const Snapshot = z.object({
  connector: z.string(),
  discovery: z.string(),
  takenAt: z.string(),
  sources: z.array(SnapshotSource),
  modules: z.array(SnapshotModule),
  flows: z.array(SnapshotFlow),
  /** Empty in snapshots from before lineages existed. */
  lineage: Lineage.default({modules: [], flows: [], clock: 0, seed: '', onEdited: 'overwrite'}),
  rows: RowRange.optional(),
  /** The run applies the import's decisions up to this number; 0: none. */
  decidedUpTo: z.number().default(0),
  lookups: z.array(SnapshotLookup).default([]),
  /** The libraries that the run's expressions call, with their source. Publishing or removing a library later does not change the run. */
  libraries: z.array(SnapshotLibrary).default([]),
  context: z.record(z.string(), z.json()).default({}),
})
export type Snapshot = z.infer<typeof Snapshot>

/** Returns a snapshot for a run that executes no flow. */
export const emptySnapshot = ({connectorId}: {connectorId: string | null}): Snapshot =>
  Snapshot.parse({connector: connectorId ?? '', discovery: '', takenAt: '', sources: [], modules: [], flows: []})

type SnapshotInput = {
  connector: string
  discovery: string
  sources: SnapshotSource[]
  flows: Flow[]
  modules: Map<string, DiscoveredModule>
  /** The API names of idempotency fields, by module. */
  idempotencyFields?: ReadonlyMap<string, string>
  /** Seed of the random numbers. Only the first run of a chain uses it. */
  seed: string
  before?: Lineage | null
  rows?: RowRange | undefined
  decidedUpTo?: number
  libraries?: SnapshotLibrary[]
  context?: Snapshot['context']
  /** In a retry, the chain's `usual` choice replaces `usual` of these settings. */
  edits?: EditSettings
}

/** Modules and flows keep their numbers in all runs of a retry chain, because the run tables refer to these numbers. */
export const takeSnapshot = ({
  connector,
  discovery,
  sources,
  flows,
  modules,
  before = null,
  rows,
  decidedUpTo = 0,
  idempotencyFields = new Map(),
  edits = {org: null, modules: new Map(), usual: 'overwrite'},
  ...given
}: SnapshotInput): Snapshot => {
  const {clock, seed} = before?.seed ? before : {clock: Date.now(), seed: given.seed}
  const onEdited = before?.onEdited ?? edits.usual
  const lineage = {...extendLineage(before, {flows, sources}), clock, seed, onEdited}
  const {lookups, searches} = compileLookups(flows, {modules, lineage})
  const names = [...new Set(flows.map(({module}) => module))]
  // Earlier builds cannot read `match: null`, so the key is left out.
  const stored = flows.map(({match, ...flow}) => (match ? {...flow, match} : flow))
  return {
    connector,
    discovery,
    takenAt: new Date().toISOString(),
    sources,
    modules: names.map(name => {
      const idempotencyField = idempotencyFields.get(name)
      const module = shapeModule(modules.get(name)!, lineage.modules.indexOf(name) + 1, flows)
      return idempotencyField === undefined ? module : {...module, idempotencyField}
    }),
    flows: stored.map((flow, at) => ({
      no: lineage.flows.findIndex(({id}) => id === flow.id) + 1,
      sourceNo: sources.find(({id}) => id === flow.sourceId)!.no,
      moduleNo: lineage.modules.indexOf(flow.module) + 1,
      flow,
      searches: searches[at]!,
      ...nestedOf(flow, flows, modules),
      ...layoutOf(flow, modules),
      ...resolveEdits(flow, modules.get(flow.module)!, {...edits, usual: onEdited}),
    })),
    lineage,
    ...(rows && {rows}),
    decidedUpTo,
    lookups,
    ...usedIn(flows, given),
  }
}

/**
 * Whether the rows of a subform flow are sent in the create of their parent. The CRM creates a record with a mandatory subform only together with a
 * row. Source: the CRM refuses other requests with `MANDATORY_NOT_FOUND`.
 */
const nestedOf = ({subform}: Flow, flows: Flow[], modules: SnapshotInput['modules']): Pick<SnapshotFlow, 'nested'> => {
  const parents = flows.find(({id}) => id === subform?.parentFlow)
  const field = modules.get(parents?.module ?? '')?.fields.find(({apiName}) => apiName === subform?.field)
  if (!field?.creatable) return {}
  return field.required ? {nested: 'required'} : field.layoutRequired ? {nested: 'layout'} : {}
}

const layoutOf = (flow: Flow, modules: SnapshotInput['modules']): Pick<SnapshotFlow, 'layout'> => {
  const layout = findLayoutLimits(flow, modules.get(flow.module))
  return layout ? {layout} : {}
}

const usedIn = (flows: Flow[], {libraries = [], context = {}}: Pick<SnapshotInput, 'libraries' | 'context'>) => {
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
  // As before images, a run that deletes records stores every value that a read by id shows.
  const isRead = flows.some(flow => flow.module === apiName && deletes(flow)) ? isReadable : () => false
  return {
    no,
    apiName,
    label,
    namingField,
    fields: fields.flatMap(field => {
      if (used.has(field.apiName)) return [shapeField(field)]
      return isRead(field) ? [{...shapeField(field), picklist: []}] : []
    }),
  }
}

/** Whether a read of several records by id shows the field. Source: zoho.com/crm/developer/docs/api/v8/get-records.html. */
const isReadable = ({subform, visible}: DiscoveredField) => visible && subform === null

export const shapeField = (field: DiscoveredField): SnapshotModule['fields'][number] => {
  const {apiName, label, length, decimalPlaces, unique, required, hasDefault, picklist} = field
  return {
    apiName,
    label,
    type: conversionTypeOf(field),
    length,
    decimalPlaces,
    unique: unique !== null,
    ...(required && {required: true as const}),
    ...(hasDefault && {hasDefault}),
    picklist,
  }
}
