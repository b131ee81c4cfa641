import type {AutoMap, ModelUse} from './auto-map.ts'
import type {TurnToKeep} from './conversations/store-turn.ts'
import type {TurnTarget} from './conversations/turn.ts'
import type {Formula} from './formula.ts'
import {isGood} from './try-expression.ts'

/** Summarises a mapping for users. The turn is not replayed to a model (`sent: null`), because its question is only a list of columns. */
export const summariseMapping = ({proposals, model, samples}: Pick<AutoMap, 'proposals' | 'model' | 'samples'>): TurnToKeep => {
  const targets = proposals.flatMap(({column, module, field, confidence}): TurnTarget[] =>
    field === null ? [] : [{kind: 'mapping', column, module, field, confidence}],
  )
  const goes = targets.map(({column, module, field}) => `${column} → ${module}.${field}`)
  const question = proposals.map(({column}) => column).join(', ')
  const answer = [`${targets.length} of ${proposals.length} columns have a field`, ...(goes.length > 0 ? [goes.join(', ')] : [])].join(': ')
  return {route: 'auto-map', question, answer, notes: NOTES[model], targets, samples, sent: null}
}

const NOTES: Record<ModelUse, string[]> = {
  used: [],
  not_needed: [],
  not_configured: ['No model was used, because none is configured'],
  no_credits: ['No model was used, because the AI credits were not sufficient'],
  not_allowed: ['No model was used, because the organisation is suspended or its payment is late'],
  unavailable: ['The model did not answer. These proposals are made without it'],
}

type WrittenFormula = Pick<Formula, 'expression' | 'explanation' | 'results' | 'samples'> & {
  module: string
  field: string
  question: string
  sent: string
}

export const summariseFormula = ({
  expression,
  explanation,
  results,
  samples,
  module,
  field,
  question,
  sent,
}: WrittenFormula): TurnToKeep => {
  const failed = results.filter(one => !isGood(one)).length
  return {
    route: 'formula',
    question,
    answer: explanation,
    samples,
    sent,
    notes: failed > 0 ? [`It fails for ${failed} of ${results.length} sample rows`] : [],
    targets: expression === null ? [] : [{kind: 'expression', module, field, expression}],
  }
}
