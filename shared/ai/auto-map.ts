import type {Pool, Tx} from '../../sql/database.ts'
import type {Config} from '../config.ts'
import {openKeeping, type Placed} from '../conversations/ask.ts'
import {Refusal} from '../errors.ts'
import type {Flow} from '../flows/flow.ts'
import type {Log} from '../log.ts'
import type {Queue} from '../queue.ts'
import {type Asked, askColumn, type Chosen, holdFor, kindsOf} from './ask-column.ts'
import {withCredits} from './credits.ts'
import {type Columns, judgeColumns, mapLocally} from './local-mapping.ts'
import {merge, type Proposal} from './merge-mapping.ts'
import {addUsage, type Model, nothing, type Usage} from './model.ts'
import {ModelFailure, refusalOfModel, refuseModelFailure} from './model-failure.ts'
import {maskSamples, openTextMask, type Sent, sentOf} from './outgoing.ts'
import {readPersonalColumns} from './personal-columns.ts'
import {sayMapping} from './said.ts'
import {keyOf, readTargets, type Target} from './targets.ts'

type Tools = {db: Pool; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>; model: Model; log: Log}
/** `connectorId`: else that of the import, where one is named. */
type Question = Placed & {connectorId?: string | undefined; modules: readonly string[]; columns: Columns; signal: AbortSignal}

/** What the model has to do with an answer. `unavailable`: it failed, and cost nothing. */
export type ModelUse = 'not_needed' | 'not_configured' | 'no_credits' | 'unavailable' | 'used'

type Mapped = {proposals: Proposal[]; model: ModelUse; samples: Sent}

/** `samples`: what of the file went to the model. `turn`: null where none was asked to be kept, or what it belonged to has gone meanwhile. */
export type AutoMap = Mapped & {credits: number; turn: {id: string; position: number} | null}

/** Below this a person would look twice, and a model is asked. */
const sure = 0.6
/** The others keep what the matcher said. */
const mostAsked = 12
const atOnce = 4

/**
 * A proposal for every column, by the matcher, and by a model for the columns it is not sure of: where there is one, and credits. Whatever becomes
 * of the model, there is an answer. No field twice, and none that is not there, cannot be written or was excluded.
 */
export const autoMap = async (tools: Tools, question: Question): Promise<AutoMap> => {
  const {org, columns, modules, signal} = question
  const {found, keep} = await openKeeping(tools.db, question)
  const known = await readTargets(tools.db, {org, modules, connectorId: question.connectorId ?? found?.connectorId})
  const local = await mapLocally(tools.db, org, columns, known)
  const open = local.flatMap(({field, confidence}, at) => (field === null || confidence < sure ? [at] : [])).slice(0, mostAsked)
  const kept = new Set(local.flatMap(({module, field}, at) => (field === null || open.includes(at) ? [] : [`${module}.${field}`])))
  const free = known.targets.filter(target => !kept.has(keyOf(target)))
  const answer = async (model: ModelUse): Promise<AutoMap> => {
    const mapped: Mapped = {proposals: merge(local, new Map()), model, samples: 'none'}
    return {...mapped, credits: 0, turn: keep && (await tools.db.transaction(tx => keep(tx, sayMapping(mapped))))}
  }
  if (open.length === 0 || free.length === 0) return answer('not_needed')
  if (!tools.model.isConfigured) return answer('not_configured')
  const isSource = await readPersonalColumns(tools.db, {org, personal: known.personal, flows: (found?.flows ?? []) as Flow[]})
  const judged = judgeColumns(columns, {...known, isSource}, local)
  const masked = maskSamples(known.policy, judged).columns
  const text = remember(openTextMask(known.policy, judged))
  const asked = open.map(at => ({column: masked[at]!, kinds: kindsOf(columns[at]!.samples), candidates: local[at]!.candidates, text}))
  const samples = sentOf(
    known.policy,
    asked.map(({column}) => column),
  )
  const mappedBy = (chosen: readonly (Chosen | null)[]): Mapped => {
    const byColumn = new Map(open.flatMap((at, n) => (chosen[n] ? [[at, chosen[n]] as const] : [])))
    return {proposals: merge(local, byColumn), model: 'used', samples}
  }
  const heard = await askAll(tools, {org, asked, free, signal, keep: keep && ((tx, chosen) => keep(tx, sayMapping(mappedBy(chosen))))})
  if (typeof heard === 'string') return answer(heard)
  return {...mappedBy(heard.value.chosen), credits: heard.credits, turn: heard.value.turn}
}

/** Each question has the same fields. */
const remember = (text: (text: string) => string) => {
  const known = new Map<string, string>()
  return (asked: string): string => {
    const answer = known.get(asked) ?? text(asked)
    known.set(asked, answer)
    return answer
  }
}

type Asking = {
  org: string
  asked: Asked[]
  free: readonly Target[]
  signal: AbortSignal
  keep: ((tx: Tx, chosen: readonly (Chosen | null)[]) => Promise<AutoMap['turn']>) | null
}

const askAll = async (tools: Tools, {org, asked, free, signal, keep}: Asking) => {
  const hold = asked.map(one => holdFor(one, free)).reduce(addUsage)
  try {
    return await withCredits(tools, {org, feature: 'auto_map', hold, signal}, async spent => {
      const {value: chosen, usage} = await askEach(tools, {asked, free, signal, spent})
      const value = {chosen, turn: null as AutoMap['turn']}
      const keepTold = async (tx: Tx) => {
        if (keep) value.turn = await keep(tx, chosen)
      }
      return {value, usage, keep: keepTold}
    })
  } catch (error) {
    if (signal.aborted) return refuseModelFailure(tools.log, 'auto-map', signal)(error)
    if (error instanceof Refusal && error.status === 402) return 'no_credits'
    if (!(error instanceof ModelFailure)) throw error
    return 'unavailable'
  }
}

type Each = Omit<Asking, 'org' | 'keep'> & {spent: (usage: Usage) => void}

/** A few at a time, until all are answered or the model is down. One unusable answer is one column's alone; without any usable one it fails. */
const askEach = async ({model, log}: Tools, {asked, free, signal, spent}: Each) => {
  const value: (Chosen | null)[] = asked.map(() => null)
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
  if (first && value.every(one => one === null))
    throw new ModelFailure(first.message, {...first, usage: failures.map(({usage: used}) => used).reduce(addUsage)})
  return {value, usage}
}
