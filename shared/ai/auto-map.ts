import type {Pool} from '../../sql/database.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'
import type {Queue} from '../queue.ts'
import {type Asked, askColumn, type Chosen, holdFor, kindsOf} from './ask-column.ts'
import {withCredits} from './credits.ts'
import {type Columns, judgeColumns, mapLocally} from './local-mapping.ts'
import {merge, type Proposal} from './merge-mapping.ts'
import {addUsage, type Model, nothing, type Usage} from './model.ts'
import {ModelFailure, refusalOfModel, refuseModelFailure} from './model-failure.ts'
import {maskSamples, openTextMask, type Sent, sentOf} from './outgoing.ts'
import {keyOf, readTargets, type Target} from './targets.ts'

type Tools = {db: Pool; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>; model: Model; log: Log}
type Question = {org: string; connectorId?: string | undefined; modules: readonly string[]; columns: Columns; signal: AbortSignal}

/** What the model has to do with an answer. `unavailable`: it failed, and cost nothing. */
export type ModelUse = 'not_needed' | 'not_configured' | 'no_credits' | 'unavailable' | 'used'

/** `samples`: what of the file went to the model. */
export type AutoMap = {proposals: Proposal[]; model: ModelUse; samples: Sent; credits: number}

/** Below this a person would look twice, and a model is asked. */
const sure = 0.6
/** The others keep what the matcher said. */
const mostAsked = 12
const atOnce = 4

/**
 * A proposal for every column, by the matcher, and by a model for the columns it is not sure of: where there is one, and credits. Whatever becomes
 * of the model, there is an answer. No field twice, and none that is not there, cannot be written or was excluded.
 */
export const autoMap = async (tools: Tools, {org, columns, signal, ...named}: Question): Promise<AutoMap> => {
  const known = await readTargets(tools.db, {org, ...named})
  const local = await mapLocally(tools.db, org, columns, known)
  const open = local.flatMap(({field, confidence}, at) => (field === null || confidence < sure ? [at] : [])).slice(0, mostAsked)
  const kept = new Set(local.flatMap(({module, field}, at) => (field === null || open.includes(at) ? [] : [`${module}.${field}`])))
  const free = known.targets.filter(target => !kept.has(keyOf(target)))
  const answer = (model: ModelUse): AutoMap => ({proposals: merge(local, new Map()), model, samples: 'none', credits: 0})
  if (open.length === 0 || free.length === 0) return answer('not_needed')
  if (!tools.model.isConfigured) return answer('not_configured')
  const judged = judgeColumns(columns, known, local)
  const masked = maskSamples(known.policy, judged).columns
  const text = remember(openTextMask(known.policy, judged))
  const asked = open.map(at => ({column: masked[at]!, kinds: kindsOf(columns[at]!.samples), candidates: local[at]!.candidates, text}))
  const heard = await askAll(tools, {org, asked, free, signal})
  if (typeof heard === 'string') return answer(heard)
  const chosen = new Map(open.flatMap((at, n) => (heard.value[n] ? [[at, heard.value[n]] as const] : [])))
  const samples = sentOf(
    known.policy,
    asked.map(({column}) => column),
  )
  return {proposals: merge(local, chosen), model: 'used', samples, credits: heard.credits}
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

type Asking = {org: string; asked: Asked[]; free: readonly Target[]; signal: AbortSignal}

const askAll = async (tools: Tools, {org, asked, free, signal}: Asking) => {
  const hold = asked.map(one => holdFor(one, free)).reduce(addUsage)
  try {
    return await withCredits(tools, {org, feature: 'auto_map', hold, signal}, spent => askEach(tools, {asked, free, signal, spent}))
  } catch (error) {
    if (signal.aborted) return refuseModelFailure(tools.log, 'auto-map', signal)(error)
    if (error instanceof Refusal && error.status === 402) return 'no_credits'
    if (!(error instanceof ModelFailure)) throw error
    return 'unavailable'
  }
}

type Each = Omit<Asking, 'org'> & {spent: (usage: Usage) => void}

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
