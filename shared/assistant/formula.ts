import type {Pool, Tx} from '../../sql/database.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import type {Balance} from '../billing/credits/balance.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Parsing} from '../files/parser/pool.ts'
import type {Flow} from '../mapping/flows/flow.ts'
import {type SnapshotLibrary, shapeLibrary} from '../mapping/flows/libraries.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {openOutputMask} from './chat/output-mask.ts'
import {openTurnStore, type PlacedQuestion} from './conversations/placed-question.ts'
import {withCredits} from './credits.ts'
import {FormulaAnswer as Answer, type FormulaAnswer, formulaInstructions, formulaPrompt, repairPrompt} from './formula-prompt.ts'
import {type Columns, judgeColumns, mapLocally} from './local-mapping.ts'
import {addUsage, charactersPerToken, type Model, nothing, type Usage} from './model.ts'
import {ModelFailure, modelNotConfigured, refuseModelFailure} from './model-failure.ts'
import {readPersonalColumns} from './personal-columns.ts'
import type {SentSamples} from './sample-masking.ts'
import {type MappingTarget, readTargets, type Targets} from './targets.ts'
import {isGood, type TriedRow, type TryExpressionInput as Trying, tryExpression} from './try-expression.ts'
import {summariseFormula} from './turn-summary.ts'

type FormulaDeps = {db: Pool; parsing: Parsing; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>; model: Model; log: Log}
type Question = PlacedQuestion & {
  /** If left out, the connection of the import is used. */
  connectorId?: string | undefined
  module: string
  field: string
  question: string
  /** The source column. In the expression, `value` is the cell of this column. Null: no source column. */
  source: string | null
  columns: Columns
  rows: readonly Record<string, string>[]
  signal: AbortSignal
}

/**
 * `expression` is null if the model answered that no expression is possible. `attempts` is the number of model calls. If the model later answers that
 * none is possible, the best earlier expression is returned. `attempts` then counts the calls up to it. `turn` is null if no turn is stored.
 */
export type Formula = FormulaAttempt & {
  samples: SentSamples
  credits: number
  balance: Balance
  turn: {id: string; position: number} | null
}

/** Maximum number of model calls: one answer and two repairs. */
const mostAttempts = 3
const maxTokens = 800
const mostExplanation = 1000

/**
 * Writes an expression for one field, compiles it and runs it on the unmasked rows. `results` has the value or the error of each row. If three
 * attempts work for no row, throws and charges nothing. The model sees only data that the org's sample policy allows. Of failed rows, the model sees
 * only row numbers, error codes and error positions.
 */
export const writeFormula = async (deps: FormulaDeps, question: Question): Promise<Formula> => {
  const {org, module, field, columns, rows, source, signal} = question
  const {found, keep} = await openTurnStore(deps.db, question)
  const known = await readTargets(deps.db, {org, connectorId: question.connectorId ?? found?.connectorId, modules: [module]})
  const target = known.targets.find(one => one.field.apiName === field)
  if (!target) throw noSuchField(module, field)
  if (!deps.model.isConfigured) throw modelNotConfigured()
  const libraries = (await listLibraryRows(deps.db, org)).map(shapeLibrary)
  const {prompt, sent, samples} = await describe(deps, question, {known, target, libraries, flows: (found?.flows ?? []) as Flow[]})
  const trying = {columns: columns.map(({name}) => name), rows, source, field: target.field, libraries, settings: known.settings, signal}
  const held = {org, feature: 'formula' as const, hold: holdFor(prompt), signal}
  const charged = await withCredits(deps, held, async spent => {
    const written = await attempt(deps.model, {prompt, trying, spent})
    const value = {...written.value, samples, turn: null as Formula['turn']}
    const summary = summariseFormula({...value, module, field, question: question.question, sent})
    const keepSummary = async (tx: Tx) => {
      if (keep) value.turn = await keep(tx, summary)
    }
    return {value, usage: written.usage, keep: keepSummary}
  }).catch(refuseModelFailure(deps.log, 'formula', signal))
  return {...charged.value, credits: charged.credits, balance: charged.balance}
}

const noSuchField = (module: string, field: string) =>
  new Refusal('INVALID', 'The request does not match its schema', {
    issues: [{code: 'custom', path: ['field'], message: `${module} has no writable field ${field}. GET …/config/fields lists its fields`}],
  })

type FormulaContext = {known: Targets; target: MappingTarget; libraries: readonly SnapshotLibrary[]; flows: readonly Flow[]}

const describe = async (
  deps: FormulaDeps,
  {org, columns, question, source}: Question,
  {known, target, libraries, flows}: FormulaContext,
) => {
  const isSource = await readPersonalColumns(deps.db, {org, personal: known.personal, flows})
  const judged = await judgeColumns({...deps, org}, columns, {...known, isSource}, await mapLocally(deps, org, columns, known))
  const out = await openOutputMask(known.policy, judged)
  const sent = out.turnText(question)
  const sourceName = source === null ? null : (out.columns[columns.findIndex(({name}) => name === source)]?.name ?? null)
  const prompt = formulaPrompt({
    question: sent,
    target,
    source: sourceName,
    text: out.text,
    columns: out.columns,
    given: judged,
    libraries,
    context: known.settings.expressionContext,
  })
  return {prompt, sent, samples: out.sent()}
}

/** Returns the usage to reserve: three model calls, each with the previous answer in its prompt. */
const holdFor = (prompt: string): Usage => ({
  inputTokens: mostAttempts * (Math.ceil((formulaInstructions().length + prompt.length) / (charactersPerToken - 1)) + maxTokens),
  outputTokens: mostAttempts * maxTokens,
})

type AttemptInput = {prompt: string; trying: Trying; spent: (usage: Usage) => void}
type FormulaAttempt = FormulaAnswer & {results: TriedRow[]; attempts: number}

const attempt = async (model: Model, {prompt, trying, spent}: AttemptInput): Promise<{value: FormulaAttempt; usage: Usage}> => {
  let usage = nothing
  let repair = ''
  let best: FormulaAttempt | null = null
  for (let attempts = 1; attempts <= mostAttempts; attempts++) {
    const answered = await askModel(model, {prompt: repair ? `${prompt}\n${repair}` : prompt, signal: trying.signal, usage})
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

const countGood = (tried: readonly TriedRow[]) => tried.filter(isGood).length

const askModel = async (model: Model, {prompt, signal, usage}: {prompt: string; signal: AbortSignal; usage: Usage}) => {
  try {
    return await model.answer({instructions: formulaInstructions(), prompt, schema: Answer, maxTokens, signal})
  } catch (error) {
    throw error instanceof ModelFailure ? new ModelFailure(error.message, {...error, usage: addUsage(usage, error.usage)}) : error
  }
}
