import type {Pool, Tx} from '../../sql/database.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import type {Config} from '../config.ts'
import {openKeeping, type Placed} from '../conversations/ask.ts'
import type {Balance} from '../credits/balance.ts'
import {Refusal} from '../errors.ts'
import type {Flow} from '../flows/flow.ts'
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
import {readPersonalColumns} from './personal-columns.ts'
import {sayFormula} from './said.ts'
import {readTargets, type Target, type Targets} from './targets.ts'
import {isGood, type Tried, type Place as Trying, tryExpression} from './try-expression.ts'

type Tools = {db: Pool; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>; model: Model; log: Log}
type Question = Placed & {
  /** Else that of the import, where one is named. */
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

/** `expression`: null where the model says that none can do it. `attempts`: how often it was asked. `turn`: null where none is kept. */
export type Formula = Found & {samples: Sent; credits: number; balance: Balance; turn: {id: string; position: number} | null}

/** The first, and at most two repairs. */
const mostAttempts = 3
const maxTokens = 800
const mostExplanation = 1000

/**
 * An expression for one field, compiled and run on the true rows before it is answered. Rows it still fails for are told; one that does not compile,
 * or fails for every row, is no answer and costs nothing. The model sees what the org's policy lets it see, and never what a row came to.
 */
export const writeFormula = async (tools: Tools, asked: Question): Promise<Formula> => {
  const {org, module, field, columns, rows, source, signal} = asked
  const {found, keep} = await openKeeping(tools.db, asked)
  const known = await readTargets(tools.db, {org, connectorId: asked.connectorId ?? found?.connectorId, modules: [module]})
  const target = known.targets.find(one => one.field.apiName === field)
  if (!target) throw noSuchField(module, field)
  if (!tools.model.isConfigured) throw modelNotConfigured()
  const libraries = (await listLibraryRows(tools.db, org)).map(shapeLibrary)
  const {prompt, sent, samples} = await describe(tools.db, asked, {known, target, libraries, flows: (found?.flows ?? []) as Flow[]})
  const context = known.settings.expressionContext
  const trying = {columns: columns.map(({name}) => name), rows, source, field: target.field, libraries, context, signal}
  const held = {org, feature: 'formula' as const, hold: holdFor(prompt), signal}
  const charged = await withCredits(tools, held, async spent => {
    const written = await attempt(tools.model, {prompt, trying, spent})
    const value = {...written.value, samples, turn: null as Formula['turn']}
    const told = sayFormula({...value, module, field, question: asked.question, sent})
    const keepTold = async (tx: Tx) => {
      if (keep) value.turn = await keep(tx, told)
    }
    return {value, usage: written.usage, keep: keepTold}
  }).catch(refuseModelFailure(tools.log, 'formula', signal))
  return {...charged.value, credits: charged.credits, balance: charged.balance}
}

const noSuchField = (module: string, field: string) =>
  new Refusal('INVALID', 'The request does not match its schema', {
    issues: [
      {code: 'custom', path: ['field'], message: `${module} has no field ${field} that can be written: GET …/config/fields lists them`},
    ],
  })

type Known = {known: Targets; target: Target; libraries: readonly SnapshotLibrary[]; flows: readonly Flow[]}

const describe = async (db: Pool, {org, columns, question, source}: Question, {known, target, libraries, flows}: Known) => {
  const isSource = await readPersonalColumns(db, {org, personal: known.personal, flows})
  const judged = judgeColumns(columns, {...known, isSource}, await mapLocally(db, org, columns, known))
  const out = openOutflow(known.policy, judged)
  const sent = out.said(question)
  const sourceName = source === null ? null : (out.columns[columns.findIndex(({name}) => name === source)]?.name ?? null)
  const prompt = formulaPrompt({
    ...{question: sent, target, source: sourceName, text: out.text},
    ...{columns: out.columns, given: judged, libraries, context: known.settings.expressionContext},
  })
  return {prompt, sent, samples: out.sent()}
}

/** Three answers, each with what was said before. */
const holdFor = (prompt: string): Usage => ({
  inputTokens: mostAttempts * (Math.ceil((formulaInstructions().length + prompt.length) / (charactersPerToken - 1)) + maxTokens),
  outputTokens: mostAttempts * maxTokens,
})

type Attempting = {prompt: string; trying: Trying; spent: (usage: Usage) => void}
type Found = FormulaAnswer & {results: Tried[]; attempts: number}

const attempt = async (model: Model, {prompt, trying, spent}: Attempting): Promise<{value: Found; usage: Usage}> => {
  let usage = nothing
  let repair = ''
  let best: Found | null = null
  for (let attempts = 1; attempts <= mostAttempts; attempts++) {
    const answered = await ask(model, {prompt: repair ? `${prompt}\n${repair}` : prompt, signal: trying.signal, usage})
    usage = addUsage(usage, answered.usage)
    spent(usage)
    const {expression} = answered.value
    const explanation = answered.value.explanation.slice(0, mostExplanation)
    if (expression === null) return {value: best ?? {expression, explanation, results: [], attempts}, usage}
    const outcome = await tryExpression(expression, trying)
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

const countGood = (tried: readonly Tried[]) => tried.filter(isGood).length

/** A failure tells what the attempts before it came to, too. */
const ask = async (model: Model, {prompt, signal, usage}: {prompt: string; signal: AbortSignal; usage: Usage}) => {
  try {
    return await model.answer({instructions: formulaInstructions(), prompt, schema: Answer, maxTokens, signal})
  } catch (error) {
    throw error instanceof ModelFailure ? new ModelFailure(error.message, {...error, usage: addUsage(usage, error.usage)}) : error
  }
}
