import type {Db, Pool} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {readAtOnce} from '../../../sql/registry.ts'
import {findSource, type Source} from '../../../sql/sources.ts'
import {findAsked, openAsking, type Placed} from '../../conversations/ask.ts'
import {readGround} from '../../conversations/ground.ts'
import type {Asking} from '../../conversations/keep.ts'
import type {Place} from '../../conversations/place.ts'
import {readReplay} from '../../conversations/replay.ts'
import {Refusal} from '../../errors.ts'
import type {Flow} from '../../flows/flow.ts'
import type {Registry} from '../../registry/document.ts'
import {chooseModule, type Everything, findModules} from '../../registry/name.ts'
import {loadRegistry} from '../../registry/store.ts'
import type {SourceEvidence} from '../../sources/describe.ts'
import type {Columns} from '../local-mapping.ts'
import type {Turn as Message} from '../model.ts'
import {readSamplePolicy, type Sampled} from '../outgoing.ts'
import type {Target} from '../targets.ts'
import {type Outflow, openOutflow} from './outflow.ts'
import {judge, readPersonalFields} from './personal-fields.ts'

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
  personal: Target[]
  judged: Sampled[]
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
    const {org, place} = asked
    const {found, source} = await findFile(tx, asked)
    const registry = await loadRegistry(tx, org)
    const everything = await findModules(tx, org, registry)
    const connectorId = asked.connectorId ?? found?.connectorId
    for (const name of asked.modules) chooseModule(everything, {name, connector: connectorId})
    const flows = (found?.flows ?? []) as Flow[]
    const personal = await readPersonalFields(tx, registry)
    const {columns, rows} = asked.sample ?? sampleOf(source)
    const judged = judge(columns, personal, flows)
    const out = openOutflow(await readSamplePolicy(tx, org), judged)
    const history = found && place ? await readReplay(tx, {org, importNo: found.no, place}, out.text) : []
    return {
      ...{org, import: found, place, connectorId, registry, everything, personal, judged, rows, out, history},
      modules: asked.modules.length > 0 ? [...asked.modules] : [...new Set(flows.map(({module}) => module))],
      ground: await readGround(tx, org),
      asking: await openAsking(tx, placedIn(asked)),
    }
  })

const findFile = async (tx: Db, {sourceId, ...asked}: ChatAsked): Promise<{found: Import | null; source: Source | null}> => {
  const found = await findAsked(tx, asked)
  const id = sourceId ?? asked.place?.source ?? null
  const source = found && id !== null ? await findSource(tx, {importNo: found.no, id}) : null
  if (found && id !== null && !source) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
  return {found, source}
}

const mostSamples = 20

const sampleOf = (source: Source | null) => {
  const columns = ((source?.evidence as SourceEvidence | undefined)?.columns ?? []).map(({name, samples}) => ({
    ...{name, samples: samples.slice(0, mostSamples)},
  }))
  const height = Math.max(0, ...columns.map(({samples}) => samples.length))
  const rows = Array.from({length: height}, (_, at) => Object.fromEntries(columns.map(({name, samples}) => [name, samples[at] ?? ''])))
  return {columns, rows}
}
