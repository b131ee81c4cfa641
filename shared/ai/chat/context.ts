import {readAskedAt} from '../../../sql/conversations.ts'
import type {Db, Pool} from '../../../sql/database.ts'
import {findImport, type Import} from '../../../sql/imports.ts'
import {readAtOnce} from '../../../sql/registry.ts'
import {findSource, type Source} from '../../../sql/sources.ts'
import {readGround} from '../../conversations/ground.ts'
import {invalidPlace, type Place} from '../../conversations/place.ts'
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

export type ChatAsked = {
  org: string
  importId: string | null
  place: Place | null
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
  askedAt: string
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
      askedAt: await readAskedAt(tx),
    }
  })

const findFile = async (tx: Db, {org, importId, place, sourceId}: ChatAsked): Promise<{found: Import | null; source: Source | null}> => {
  if (importId === null) return {found: null, source: null}
  const found = await findImport(tx, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files are gone: make a new one')
  const ofPlace = place?.source ?? null
  const source = await findNamed(tx, found, sourceId ?? ofPlace)
  if (sourceId !== null && !source) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
  if (ofPlace !== null && source?.id !== ofPlace && !(await findNamed(tx, found, ofPlace))) throw invalidPlace()
  return {found, source}
}

const findNamed = (tx: Db, {no}: Import, id: string | null) => (id === null ? null : findSource(tx, {importNo: no, id}))

const mostSamples = 20

const sampleOf = (source: Source | null) => {
  const columns = ((source?.evidence as SourceEvidence | undefined)?.columns ?? []).map(({name, samples}) => ({
    ...{name, samples: samples.slice(0, mostSamples)},
  }))
  const height = Math.max(0, ...columns.map(({samples}) => samples.length))
  const rows = Array.from({length: height}, (_, at) => Object.fromEntries(columns.map(({name, samples}) => [name, samples[at] ?? ''])))
  return {columns, rows}
}
