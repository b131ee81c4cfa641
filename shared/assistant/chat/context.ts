import type {Pool, Tx} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {readAtOnce} from '../../../sql/registry.ts'
import {mapYielding} from '../../concurrency/map-yielding.ts'
import type {Registry} from '../../configuration/document.ts'
import {type AllModules, assertOwn, chooseModule, findModules} from '../../configuration/name.ts'
import {loadRegistry} from '../../configuration/store.ts'
import {Refusal} from '../../errors.ts'
import type {Parsing} from '../../files/parser/pool.ts'
import {type NarrowSource, readNarrowSources} from '../../files/sources/evidence.ts'
import type {Flow} from '../../mapping/flows/flow.ts'
import {readContextHash} from '../conversations/context-hash.ts'
import type {ConversationPlace} from '../conversations/conversation-place.ts'
import {openQuestionStore, type PlacedQuestion} from '../conversations/placed-question.ts'
import {logReplay, readReplay} from '../conversations/replay.ts'
import type {TurnQuestion} from '../conversations/store-turn.ts'
import type {TurnTarget} from '../conversations/turn.ts'
import {type Columns, judgeColumns} from '../local-mapping.ts'
import type {ModelTurn as Message} from '../model.ts'
import {readPersonalColumns} from '../personal-columns.ts'
import {type PersonalField, readPersonalFields} from '../personal-fields.ts'
import {readSamplePolicy, type SampledColumn} from '../sample-masking.ts'
import {type OutputMask, openOutputMask} from './output-mask.ts'

export type ChatAsked = PlacedQuestion & {
  /** A source of the import. If null, the source of the conversation place is used. */
  sourceId: string | null
  connectorId?: string | undefined
  /** Modules named in the question. If empty, the modules of the import's flows are used. */
  modules: readonly string[]
  /** Sample rows sent by the caller. If null, samples of the file are used. */
  sample: {columns: Columns; rows: readonly Record<string, string>[]} | null
}

/** All data that a conversation may use, read in one snapshot. `out` masks all data that is sent. */
export type ChatContext = {
  org: string
  import: Import | null
  place: ConversationPlace | null
  connectorId: string | undefined
  modules: string[]
  registry: Registry
  everything: AllModules
  personal: PersonalField[]
  judged: SampledColumn[]
  /** The columns of each file of the import, by source id. */
  files: ReadonlyMap<string, SampledColumn[]>
  /** Cells by column. If the caller sent no rows, these are sample values of each column side by side, not real rows. */
  rows: readonly Record<string, string>[]
  out: OutputMask
  /** Proposals that a user can apply, from the tools since the last tool result was read. Unmasked, because they are not sent to the model. */
  targets: TurnTarget[]
  history: Message[]
  ground: string
  /** The data with which the turn is stored, or null if the turn is not stored. */
  asking: TurnQuestion | null
}

/**
 * Reads the context, and refuses an import, file, connection or module that the org does not have. Columns are judged after the transaction, because
 * judging may wait for a parser thread.
 */
export const readContext = async ({db, parsing}: {db: Pool; parsing: Parsing}, chatAsked: ChatAsked): Promise<ChatContext> => {
  const {sources, source, policy, isSource, turns, flows, ...stored} = await readAtOnce(db, tx => readStored(tx, chatAsked))
  const {org, personal} = stored
  const judge = (columns: Columns) => judgeColumns({parsing, org}, columns, {personal, isSource}, [])
  const files = await judgeFiles(sources, judge)
  const {columns, rows} = chatAsked.sample ?? (await sampleOf(source))
  const judged = chatAsked.sample || !source ? await judge(columns) : files.get(source.id)!
  const out = await openOutputMask(policy, judged, [...files.values()].filter(one => one !== judged).flat())
  return {
    ...stored,
    judged,
    files,
    rows,
    out,
    targets: [],
    modules: chatAsked.modules.length > 0 ? [...chatAsked.modules] : [...new Set(flows.map(({module}) => module))],
    history: logReplay(turns, out.turnText),
  }
}

const readStored = async (tx: Tx, chatAsked: ChatAsked) => {
  const {org, place, sourceId} = chatAsked
  const {found, asking} = await openQuestionStore(tx, chatAsked)
  const sources = found ? await readNarrowSources(tx, {importNo: found.no, keys: ['name', 'samples']}) : []
  const source = sources.find(({id}) => id === (sourceId ?? place?.source)) ?? null
  if (sourceId !== null && !source) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
  const registry = await loadRegistry(tx, org)
  const everything = await findModules(tx, org, registry)
  const connectorId = chatAsked.connectorId ?? found?.connectorId
  if (chatAsked.connectorId !== undefined) assertOwn(everything.connections, chatAsked.connectorId)
  for (const name of chatAsked.modules) chooseModule(everything, {name, connector: connectorId})
  const flows = (found?.flows ?? []) as Flow[]
  const personal = await readPersonalFields(tx, org, registry)
  return {
    org,
    import: found,
    place,
    connectorId,
    registry,
    everything,
    personal,
    // An answer from samples of the file is deleted with the file.
    asking: asking && source && !chatAsked.sample ? {...asking, sourceId: source.id} : asking,
    sources,
    source,
    flows,
    isSource: await readPersonalColumns(tx, {org, personal, flows}),
    policy: await readSamplePolicy(tx, org),
    turns: asking && found ? await readReplay(tx, {org, importNo: found.no, place: asking.place}) : [],
    ground: await readContextHash(tx, org),
  }
}

/**
 * Maximum number of columns that are judged, counted over all files. In the file that exceeds the limit and in later files, all columns are treated
 * as personal.
 */
const mostJudged = 1_000

type SampledSource = NarrowSource<'name' | 'samples'>

const judgeFiles = async (
  sources: readonly SampledSource[],
  judgeAll: (columns: Columns) => Promise<SampledColumn[]>,
): Promise<Map<string, SampledColumn[]>> => {
  let left = mostJudged
  const files = new Map<string, SampledColumn[]>()
  for (const {id, evidence} of sources) {
    left -= evidence.columns.length
    files.set(id, left >= 0 ? await judgeAll(evidence.columns) : evidence.columns.map(column => ({...column, pii: true})))
  }
  return files
}

const sampleOf = async (source: SampledSource | null) => {
  const columns = source?.evidence.columns ?? []
  const height = Math.max(0, ...columns.map(({samples}) => samples.length))
  const places = Array.from({length: height}, (_, at) => at)
  const rows = await mapYielding(places, at => Object.fromEntries(columns.map(({name, samples}) => [name, samples[at] ?? ''])))
  return {columns, rows}
}
