import {z} from 'zod'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {Cleaning} from '../imports/cleaning.ts'
import {Flow} from './flow.ts'

/** Readers of another build refuse a format above their own (`FROM_FUTURE`). */
export const SNAPSHOT_FORMAT = 1

const Field = z.object({
  apiName: z.string(),
  label: z.string(),
  type: z.string(),
  length: z.number().nullable(),
  unique: z.boolean(),
  picklist: z.array(z.object({display: z.string(), actual: z.string()})),
})

/** By column. `as`: text that looks like numbers is kept as it is, or not. */
const Reading = z.object({
  dateOrder: z.enum(['dmy', 'mdy', 'ymd']).optional(),
  decimalMark: z.enum(['point', 'comma']).optional(),
  as: z.enum(['text', 'number']).optional(),
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

export const rowsToRead = ({rows, struck = 0}: SnapshotSource): number => rows - struck

const SnapshotModule = z.object({no: z.number(), apiName: z.string(), label: z.string(), fields: z.array(Field)})
export type SnapshotModule = z.infer<typeof SnapshotModule>

const SnapshotFlow = z.object({no: z.number(), sourceNo: z.number(), moduleNo: z.number(), flow: Flow})
export type SnapshotFlow = z.infer<typeof SnapshotFlow>

/** All a run needs to be run again to the letter, whatever becomes of the import, its files or the CRM's fields. */
export const Snapshot = z.object({
  connector: z.string(),
  discovery: z.string(),
  takenAt: z.string(),
  sources: z.array(SnapshotSource),
  modules: z.array(SnapshotModule),
  flows: z.array(SnapshotFlow),
})
export type Snapshot = z.infer<typeof Snapshot>

type Taken = {connector: string; discovery: string; sources: SnapshotSource[]; flows: Flow[]; modules: Map<string, DiscoveredModule>}

/** Numbers its sources, modules and flows once; the run's tables name them by these. */
export const takeSnapshot = ({connector, discovery, sources, flows, modules}: Taken): Snapshot => {
  const names = [...new Set(flows.map(({module}) => module))]
  return {
    connector,
    discovery,
    takenAt: new Date().toISOString(),
    sources,
    modules: names.map((name, at) => shapeModule(modules.get(name)!, at + 1, flows)),
    flows: flows.map((flow, at) => ({
      no: at + 1,
      sourceNo: sources.find(({id}) => id === flow.sourceId)!.no,
      moduleNo: names.indexOf(flow.module) + 1,
      flow,
    })),
  }
}

const shapeModule = ({apiName, label, fields}: DiscoveredModule, no: number, flows: Flow[]): SnapshotModule => {
  const used = new Set(
    flows.filter(({module}) => module === apiName).flatMap(flow => [...flow.fields.map(({field}) => field), ...(flow.match?.by ?? [])]),
  )
  return {
    no,
    apiName,
    label,
    fields: fields
      .filter(field => used.has(field.apiName))
      .map(({apiName, label, type, length, unique, picklist}) => ({apiName, label, type, length, unique: unique !== null, picklist})),
  }
}
