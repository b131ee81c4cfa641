import type {Pool, Tx} from '../../sql/database.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Parsing} from '../files/parser/pool.ts'
import type {Flow} from '../mapping/flows/flow.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {askColumn, type ChosenField, type ColumnQuestion, holdFor, kindsOf} from './ask-column.ts'
import {openTurnStore, type PlacedQuestion} from './conversations/placed-question.ts'
import {withCredits} from './credits.ts'
import {type Columns, judgeColumns, mapLocally} from './local-mapping.ts'
import {type MappingProposal, mergeProposals} from './merge-mapping.ts'
import {addUsage, type Model, nothing, type Usage} from './model.ts'
import {ModelFailure, refusalOfModel, refuseModelFailure} from './model-failure.ts'
import {readPersonalColumns} from './personal-columns.ts'
import {maskSamples, openTextMask, type SentSamples, sentOf} from './sample-masking.ts'
import {keyOf, type MappingTarget, readTargets} from './targets.ts'
import {summariseMapping} from './turn-summary.ts'

type AutoMapDeps = {db: Pool; parsing: Parsing; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>; model: Model; log: Log}
type Question = PlacedQuestion & {
  connectorId?: string | undefined
  modules: readonly string[]
  useModel: boolean
  columns: Columns
  signal: AbortSignal
}

/**
 * How the model was used. `not_allowed`: the org is suspended or its payment is late. `unavailable`: the model failed, and nothing is charged, but
 * it may have received sample data.
 */
export type ModelUse = 'not_needed' | 'not_configured' | 'no_credits' | 'not_allowed' | 'unavailable' | 'used'

type MappedColumns = {proposals: MappingProposal[]; model: ModelUse; samples: SentSamples}

/** `turn` is null if the caller requested no turn, or if the import or the file was deleted in the meantime. */
export type AutoMap = MappedColumns & {credits: number; turn: {id: string; position: number} | null}

/** If the matcher's confidence is below this value, a model checks the proposal. */
const sure = 0.6
/** Maximum number of columns that a model checks. Further columns keep the matcher's proposal. */
const mostAsked = 12
const atOnce = 4

/**
 * Returns one proposal per column; its field is null if no field fits. If the caller allows a model, and a model and credits are available, the model
 * checks up to 12 uncertain proposals of the matcher. A failure of the model does not fail the request. Proposed fields exist, are writable and not
 * excluded, and no field is proposed twice.
 */
export const autoMap = async (deps: AutoMapDeps, question: Question): Promise<AutoMap> => {
  const {org, columns, modules, signal} = question
  const {found, keep} = await openTurnStore(deps.db, question)
  const known = await readTargets(deps.db, {org, modules, connectorId: question.connectorId ?? found?.connectorId})
  const local = await mapLocally(deps, org, columns, known)
  const open = local.flatMap(({field, confidence}, at) => (field === null || confidence < sure ? [at] : [])).slice(0, mostAsked)
  const kept = new Set(local.flatMap(({module, field}, at) => (field === null || open.includes(at) ? [] : [`${module}.${field}`])))
  const free = known.targets.filter(target => !kept.has(keyOf(target)))
  const answer = async (model: ModelUse, samples: SentSamples = 'none'): Promise<AutoMap> => {
    const mapped: MappedColumns = {proposals: mergeProposals(local, new Map()), model, samples}
    return {...mapped, credits: 0, turn: keep && (await deps.db.transaction(tx => keep(tx, summariseMapping(mapped))))}
  }
  if (!question.useModel || open.length === 0 || free.length === 0) return answer('not_needed')
  if (!deps.model.isConfigured) return answer('not_configured')
  const isSource = await readPersonalColumns(deps.db, {org, personal: known.personal, flows: (found?.flows ?? []) as Flow[]})
  const judged = await judgeColumns({...deps, org}, columns, {...known, isSource}, local)
  const masked = (await maskSamples(known.policy, judged)).columns
  const text = remember(await openTextMask(known.policy, judged))
  const asked = open.map(at => ({column: masked[at]!, kinds: kindsOf(columns[at]!.samples), candidates: local[at]!.candidates, text}))
  const samples = sentOf(
    known.policy,
    asked.map(({column}) => column),
  )
  const mappedBy = (chosen: readonly (ChosenField | null)[]): MappedColumns => {
    const byColumn = new Map(open.flatMap((at, n) => (chosen[n] ? [[at, chosen[n]] as const] : [])))
    return {proposals: mergeProposals(local, byColumn), model: 'used', samples}
  }
  const heard = await askAll(deps, {org, asked, free, signal, keep: keep && ((tx, chosen) => keep(tx, summariseMapping(mappedBy(chosen))))})
  if (typeof heard === 'string') return answer(heard, heard === 'unavailable' ? samples : 'none')
  return {...mappedBy(heard.value.chosen), credits: heard.credits, turn: heard.value.turn}
}

/** Wraps a mask with a cache, because every question has the same fields. */
const remember = (text: (text: string) => string) => {
  const known = new Map<string, string>()
  return (asked: string): string => {
    const answer = known.get(asked) ?? text(asked)
    known.set(asked, answer)
    return answer
  }
}

type AskAllInput = {
  org: string
  asked: ColumnQuestion[]
  free: readonly MappingTarget[]
  signal: AbortSignal
  keep: ((tx: Tx, chosen: readonly (ChosenField | null)[]) => Promise<AutoMap['turn']>) | null
}

const askAll = async (deps: AutoMapDeps, {org, asked, free, signal, keep}: AskAllInput) => {
  const hold = asked.map(one => holdFor(one, free)).reduce(addUsage)
  try {
    return await withCredits(deps, {org, feature: 'auto_map', hold, signal}, async spent => {
      const {value: chosen, usage, uncharged} = await askEach(deps, {asked, free, signal, spent})
      const value = {chosen, turn: null as AutoMap['turn']}
      const keepTold = async (tx: Tx) => {
        if (keep) value.turn = await keep(tx, chosen)
      }
      return {value, usage, uncharged, keep: keepTold}
    })
  } catch (error) {
    if (signal.aborted) return refuseModelFailure(deps.log, 'auto-map', signal)(error)
    if (error instanceof Refusal && error.status === 402) return error.code === 'CREDITS_EXHAUSTED' ? 'no_credits' : 'not_allowed'
    if (!(error instanceof ModelFailure)) throw error
    return 'unavailable'
  }
}

type AskEachInput = Omit<AskAllInput, 'org' | 'keep'> & {spent: (usage: Usage) => void}

/**
 * Asks up to four questions at a time until all are answered or the model is unavailable. An unusable answer affects only its column. Throws if
 * no answer is usable.
 */
const askEach = async ({model, log}: AutoMapDeps, {asked, free, signal, spent}: AskEachInput) => {
  const value: (ChosenField | null)[] = asked.map(() => null)
  const failures: ModelFailure[] = []
  let usage = nothing
  const line = asked.entries()
  const work = async () => {
    for (const [at, one] of line) {
      if (failures.some(({kind}) => kind !== 'invalid')) return
      try {
        const answered = await askColumn(model, one, {targets: free, signal})
        usage = addUsage(usage, answered.usage)
        spent(usage)
        value[at] = answered.chosen
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({length: atOnce}, work))
  const [first] = failures
  if (first) refusalOfModel(log, first, `auto-map, ${failures.length} of ${asked.length} columns`)
  const uncharged = failures.map(({usage: used}) => used).reduce(addUsage, nothing)
  if (first && value.every(one => one === null)) throw new ModelFailure(first.message, {...first, usage: uncharged})
  return {value, usage, uncharged}
}
