import type {Chosen} from './ask-column.ts'
import type {Candidate as LocalCandidate, Proposal as LocalProposal, Why} from './matcher/propose.ts'
import {keyOf, type Target} from './targets.ts'

type Candidate = Omit<LocalCandidate, 'why'> & {why: (Why | 'model')[]}
/** `why`: of the field that is proposed. `note`: the model's own sentence, where the proposal is the model's. */
export type Proposal = Omit<LocalProposal, 'candidates'> & {
  why: Candidate['why']
  by: 'local' | 'model'
  note: string | null
  candidates: Candidate[]
}

/** A model that is less sure proposes nothing. */
const least = 0.5
const mostCandidates = 4

/**
 * What the model chose for some of the columns, set into what the matcher said. A field goes to one column: one the matcher's proposal keeps is not
 * taken from it, and of two columns the model gives the same field it goes to the one the matcher thought of, or to neither. So whatever the cells of
 * a column make the model say, no other column is given another field for it.
 */
export const merge = (local: readonly LocalProposal[], chosen: ReadonlyMap<number, Chosen>): Proposal[] => {
  const wanted = new Map([...chosen].filter(([, {target, confidence}]) => target !== null && confidence >= least) as [number, Sure][])
  const kept = new Set(local.flatMap((proposal, at) => (wanted.has(at) ? [] : fieldsOf(proposal))))
  const granted = new Map([...wanted].filter(([at, {target}]) => !kept.has(keyOf(target)) && isFirst(local, wanted, at)))
  const taken = new Set([...granted.values()].map(({target}) => keyOf(target)))
  return local.map((proposal, at) => {
    const choice = granted.get(at)
    if (choice) return byModel(proposal, choice)
    return byMatcher(
      proposal,
      fieldsOf(proposal).some(key => taken.has(key)),
    )
  })
}

type Sure = Chosen & {target: Target}

const fieldsOf = ({module, field}: LocalProposal): string[] => (field === null ? [] : [`${module}.${field}`])

const isFirst = (local: readonly LocalProposal[], wanted: ReadonlyMap<number, Sure>, at: number): boolean => {
  const key = keyOf(wanted.get(at)!.target)
  const thoughtOf = (other: number) => local[other]!.candidates.find(({module, field}) => `${module}.${field}` === key)?.confidence ?? 0
  return [...wanted].every(([other, {target}]) => other === at || keyOf(target) !== key || thoughtOf(other) < thoughtOf(at))
}

const byModel = ({column, candidates}: LocalProposal, {target, confidence, note}: Sure): Proposal => {
  const field = {field: target.field.apiName, module: target.module, confidence}
  const others = candidates.filter(one => one.field !== field.field || one.module !== field.module)
  return {
    ...{column, ...field, why: ['model'], by: 'model', note},
    candidates: [{...field, why: ['model'] as ['model']}, ...others].slice(0, mostCandidates),
  }
}

/** `isGone`: what was proposed went to another column by the model's word. */
const byMatcher = (proposal: LocalProposal, isGone: boolean): Proposal => {
  const {column, candidates} = proposal
  const {field, module, confidence} = isGone ? {field: null, module: null, confidence: 0} : proposal
  const why = candidates.find(one => one.field === field && one.module === module)?.why ?? []
  return {column, field, module, confidence, why, by: 'local', note: null, candidates}
}
