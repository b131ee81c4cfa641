import type {Told} from '../conversations/keep.ts'
import type {Target} from '../conversations/turn.ts'
import type {AutoMap, ModelUse} from './auto-map.ts'
import type {Formula} from './formula.ts'
import {isGood} from './try-expression.ts'

/** Read by people alone: a question that is a list of columns is nothing a model would be told again. */
export const sayMapping = ({proposals, model, samples}: Pick<AutoMap, 'proposals' | 'model' | 'samples'>): Told => {
  const targets = proposals.flatMap(({column, module, field, confidence}): Target[] =>
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
  not_configured: ['No model was asked: there is none'],
  no_credits: ['No model was asked: the credits did not suffice'],
  unavailable: ['The model did not answer: these are the proposals without it'],
}

type Written = Pick<Formula, 'expression' | 'explanation' | 'results' | 'samples'> & {
  module: string
  field: string
  question: string
  /** The question as it left. */
  sent: string
}

export const sayFormula = ({expression, explanation, results, samples, module, field, question, sent}: Written): Told => {
  const failed = results.filter(one => !isGood(one)).length
  return {
    ...{route: 'formula', question, answer: explanation, samples, sent},
    notes: failed > 0 ? [`It fails for ${failed} of ${results.length} sample rows`] : [],
    targets: expression === null ? [] : [{kind: 'expression', module, field, expression}],
  }
}
