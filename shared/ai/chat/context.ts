import type {Pool} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {readAtOnce} from '../../../sql/registry.ts'
import {listSources, type Source} from '../../../sql/sources.ts'
import {openAsking, type Placed} from '../../conversations/ask.ts'
import {readGround} from '../../conversations/ground.ts'
import type {Asking} from '../../conversations/keep.ts'
import type {Place} from '../../conversations/place.ts'
import {readReplay} from '../../conversations/replay.ts'
import {Refusal} from '../../errors.ts'
import type {Flow} from '../../flows/flow.ts'
import type {Registry} from '../../registry/document.ts'
import {assertOwn, chooseModule, type Everything, findModules} from '../../registry/name.ts'
import {loadRegistry} from '../../registry/store.ts'
import {evidenceOf} from '../../sources/evidence.ts'
import {type Columns, judgeColumns} from '../local-mapping.ts'
import type {Turn as Message} from '../model.ts'
import {readSamplePolicy, type Sampled} from '../outgoing.ts'
import {readPersonalColumns} from '../personal-columns.ts'
import {type PersonalField, readPersonalFields} from '../personal-fields.ts'
import {type Outflow, openOutflow} from './outflow.ts'

export type ChatAsked = Placed & {
  /** Of the import; null leaves it to the place. */
  sourceId: string | null
  connectorId?: string | undefined
  /** Those named in the question; none leaves it to the import's flows. */
  modules: readonly string[]
  /** As the caller sends them; null leaves it to the file. */
  sample: {columns: Columns; rows: readonly Record<string, string>[]} | null
}

/** All a conversation may speak of, of one moment. What of it leaves, leaves by `out`. */
export type ChatContext = {
  org: string
  import: Import | null
  place: Place | null
  connectorId: string | undefined
  modules: string[]
  registry: Registry
  everything: Everything
  personal: PersonalField[]
  /** The columns that are asked about. */
  judged: Sampled[]
  /** Those of each file of the import, by its id. */
  files: ReadonlyMap<string, Sampled[]>
  /** Cells by column; of a file whose rows were not sent, values that occur in each column, side by side. */
  rows: readonly Record<string, string>[]
  out: Outflow
  history: Message[]
  ground: string
  /** Where the turn is to be kept. */
  asking: Asking | null
}

/** Refuses what the org does not have: an import, a file of it, a connection, a module. */
export const readContext = (db: Pool, asked: ChatAsked): Promise<ChatContext> =>
  readAtOnce(db, async tx => {
    const {org, place, sourceId} = asked
    const {found, asking} = await openAsking(tx, asked)
    const sources = found ? await listSources(tx, found.no) : []
    const source = sources.find(({id}) => id === (sourceId ?? place?.source)) ?? null
    if (sourceId !== null && !source) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
    const registry = await loadRegistry(tx, org)
    const everything = await findModules(tx, org, registry)
    const connectorId = asked.connectorId ?? found?.connectorId
    if (asked.connectorId !== undefined) assertOwn(everything.connections, asked.connectorId)
    for (const name of asked.modules) chooseModule(everything, {name, connector: connectorId})
    const flows = (found?.flows ?? []) as Flow[]
    const personal = await readPersonalFields(tx, org, registry)
    const isSource = await readPersonalColumns(tx, {org, personal, flows})
    const judge = (columns: Columns) => judgeColumns(columns, {personal, isSource}, [])
    const files = judgeFiles(sources, judge)
    const {columns, rows} = asked.sample ?? sampleOf(source)
    const judged = asked.sample || !source ? judge(columns) : files.get(source.id)!
    const out = openOutflow(await readSamplePolicy(tx, org), judged, [...files.values()].filter(one => one !== judged).flat())
    return {
      ...{org, import: found, place, connectorId, registry, everything, personal, judged, files, rows, out, asking},
      modules: asked.modules.length > 0 ? [...asked.modules] : [...new Set(flows.map(({module}) => module))],
      history: asking && found ? await readReplay(tx, {org, importNo: found.no, place: asking.place}, out.said) : [],
      ground: await readGround(tx, org),
    }
  })

/** Of files beyond this many columns nobody looks at each: all of it is personal. */
const mostJudged = 1_000

const judgeFiles = (sources: readonly Source[], judgeAll: (columns: Columns) => Sampled[]): Map<string, Sampled[]> => {
  let left = mostJudged
  const files = sources.map(source => {
    const columns = columnsOf(source)
    left -= columns.length
    return [source.id, left >= 0 ? judgeAll(columns) : columns.map(column => ({...column, pii: true}))] as const
  })
  return new Map(files)
}

const columnsOf = (source: Source | null) => (source ? evidenceOf(source).columns : [])

const sampleOf = (source: Source | null) => {
  const columns = columnsOf(source)
  const height = Math.max(0, ...columns.map(({samples}) => samples.length))
  const rows = Array.from({length: height}, (_, at) => Object.fromEntries(columns.map(({name, samples}) => [name, samples[at] ?? ''])))
  return {columns, rows}
}
