import type {Pool} from '../../sql/database.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import type {Config} from '../config.ts'
import type {Balance} from '../credits/balance.ts'
import {Refusal} from '../errors.ts'
import {type SnapshotLibrary, shapeLibrary} from '../flows/libraries.ts'
import type {Log} from '../log.ts'
import type {Queue} from '../queue.ts'
import {openOutflow} from './chat/outflow.ts'
import {withCredits} from './credits.ts'
import {FormulaAnswer as Answer, type FormulaAnswer, formulaInstructions, formulaPrompt, repairPrompt} from './formula-prompt.ts'
import {type Columns, judgeColumns, mapLocally} from './local-mapping.ts'
import {addUsage, charactersPerToken, type Model, nothing, type Usage} from './model.ts'
import {ModelFailure, modelNotConfigured, refuseModelFailure} from './model-failure.ts'
import type {Sent} from './outgoing.ts'
import {readTargets, type Target, type Targets} from './targets.ts'
import {type Place, type Tried, tryExpression} from './try-expression.ts'

type Tools = {db: Pool; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>; model: Model; log: Log}
type Question = {
  org: string
  connectorId?: string | undefined
  module: string
  field: string
  question: string
  /** The column whose cell is `value`. */
  source: string | null
  columns: Columns
  rows: readonly Record<string, string>[]
  signal: AbortSignal
}

/** `expression`: null where the model says that none can do it. `attempts`: how often it was asked. */
export type Formula = FormulaAnswer & {results: Tried[]; attempts: number; samples: Sent; credits: number; balance: Balance}

/** The first, and at most two repairs. */
const mostAttempts = 3
const maxTokens = 800
const mostExplanation = 1000

/**
 * An expression for one field, compiled and run on the true rows before it is answered. Rows it still fails for are told; one that does not compile,
 * or fails for every row, is no answer and costs nothing. The model sees what the org's policy lets it see, and never what a row came to.
 */
export const writeFormula = async (tools: Tools, asked: Question): Promise<Formula> => {
  const {org, connectorId, module, field, columns, signal} = asked
  const known = await readTargets(tools.db, {org, connectorId, modules: [module]})
  const target = known.targets.find(one => one.field.apiName === field)
  if (!target) throw noSuchField(module, field)
  if (!tools.model.isConfigured) throw modelNotConfigured()
  const libraries = (await listLibraryRows(tools.db, org)).map(shapeLibrary)
  const {prompt, samples} = await describe(tools.db, asked, {known, target, libraries})
  const place = {
    ...asked,
    columns: columns.map(({name}) => name),
    field: target.field,
    libraries,
    context: known.settings.expressionContext,
  }
  const hold = holdFor(prompt)
  const charged = await withCredits(tools, {org, feature: 'formula', hold, signal}, spent =>
    attempt(tools.model, {prompt, place, spent}),
  ).catch(refuseModelFailure(tools.log, 'formula', signal))
  return {...charged.value, samples, credits: charged.credits, balance: charged.balance}
}

const noSuchField = (module: string, field: string) =>
  new Refusal('INVALID', 'The request does not match its schema', {
    issues: [
      {code: 'custom', path: ['field'], message: `${module} has no field ${field} that can be written: GET …/config/fields lists them`},
    ],
  })

type Known = {known: Targets; target: Target; libraries: readonly SnapshotLibrary[]}

const describe = async (db: Pool, {org, columns, question, source}: Question, {known, target, libraries}: Known) => {
  const judged = judgeColumns(columns, known, await mapLocally(db, org, columns, known))
  const out = openOutflow(known.policy, judged)
  const sourceName = source === null ? null : (out.columns[columns.findIndex(({name}) => name === source)]?.name ?? null)
  const prompt = formulaPrompt({
    ...{question: out.said(question), target, source: sourceName, text: out.text},
    ...{columns: out.columns, given: judged, libraries, context: known.settings.expressionContext},
  })
  return {prompt, samples: out.sent()}
}

/** Three answers, each with what was said before. */
const holdFor = (prompt: string): Usage => ({
  inputTokens: mostAttempts * (Math.ceil((formulaInstructions().length + prompt.length) / (charactersPerToken - 1)) + maxTokens),
  outputTokens: mostAttempts * maxTokens,
})

type Attempting = {prompt: string; place: Place; spent: (usage: Usage) => void}
type Found = FormulaAnswer & {results: Tried[]; attempts: number}

const attempt = async (model: Model, {prompt, place, spent}: Attempting): Promise<{value: Found; usage: Usage}> => {
  let usage = nothing
  let repair = ''
  let best: Found | null = null
  for (let attempts = 1; attempts <= mostAttempts; attempts++) {
    const answered = await ask(model, {prompt: repair ? `${prompt}\n${repair}` : prompt, signal: place.signal, usage})
    usage = addUsage(usage, answered.usage)
    spent(usage)
    const {expression} = answered.value
    const explanation = answered.value.explanation.slice(0, mostExplanation)
    if (expression === null) return {value: best ?? {expression, explanation, results: [], attempts}, usage}
    const outcome = await tryExpression(expression, place)
    repair = repairPrompt(expression, outcome)
    if ('issue' in outcome) continue
    const results = outcome.tried
    const value = {expression, explanation, results, attempts}
    if (results.every(isGood)) return {value, usage}
    if (results.some(isGood) && (best === null || countGood(best.results) <= countGood(results))) best = value
  }
  if (best) return {value: {...best, attempts: mostAttempts}, usage}
  throw new ModelFailure('No expression worked', {kind: 'invalid', usage})
}

const isGood = (one: Tried) => !('error' in one) && one.problem === null
const countGood = (tried: readonly Tried[]) => tried.filter(isGood).length

/** A failure tells what the attempts before it came to, too. */
const ask = async (model: Model, {prompt, signal, usage}: {prompt: string; signal: AbortSignal; usage: Usage}) => {
  try {
    return await model.answer({instructions: formulaInstructions(), prompt, schema: Answer, maxTokens, signal})
  } catch (error) {
    throw error instanceof ModelFailure ? new ModelFailure(error.message, {...error, usage: addUsage(usage, error.usage)}) : error
  }
}
