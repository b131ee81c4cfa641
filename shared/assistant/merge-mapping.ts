import type {ChosenField} from './ask-column.ts'
import type {MatchCandidate as LocalCandidate, LocalProposal, MatchReason} from './matcher/propose.ts'
import {keyOf, type MappingTarget} from './targets.ts'

type Candidate = Omit<LocalCandidate, 'why'> & {why: (MatchReason | 'model')[]}
/** `why` has the reasons for the field. `note` is the model's own sentence, if the model made the proposal. */
export type MappingProposal = Omit<LocalProposal, 'candidates'> & {
  why: Candidate['why']
  by: 'local' | 'model'
  note: string | null
  candidates: Candidate[]
}

/** Choices of the model below this confidence are ignored. */
const least = 0.5
const mostCandidates = 4

/**
 * Merges the model's choices into the matcher's proposals. Each field goes to at most one column. If the model made no confident choice for a
 * column, or the choice is ignored, the column keeps its field, so that instructions in cells cannot move that field to another column. If the
 * model chooses one field for two columns, the field goes to the column for which the matcher is more confident; in a tie, both choices are
 * ignored.
 */
export const mergeProposals = (local: readonly LocalProposal[], chosen: ReadonlyMap<number, ChosenField>): MappingProposal[] => {
  const wanted = new Map([...chosen].filter(([, {target, confidence}]) => target !== null && confidence >= least) as [number, SureMatch][])
  const granted = withoutKept(local, new Map([...wanted].filter(([at]) => isFirst(local, wanted, at))))
  return local.map((proposal, at) => {
    const choice = granted.get(at)
    return choice ? byModel(proposal, choice) : byMatcher(proposal)
  })
}

type SureMatch = ChosenField & {target: MappingTarget}

/** Removes choices of fields that other columns keep. A column whose choice is removed keeps its own field, so the rest is checked again. */
const withoutKept = (local: readonly LocalProposal[], choices: ReadonlyMap<number, SureMatch>): ReadonlyMap<number, SureMatch> => {
  const kept = new Set(local.flatMap((proposal, at) => (choices.has(at) ? [] : fieldsOf(proposal))))
  const left = new Map([...choices].filter(([, {target}]) => !kept.has(keyOf(target))))
  return left.size === choices.size ? left : withoutKept(local, left)
}

const fieldsOf = ({module, field}: LocalProposal): string[] => (field === null ? [] : [`${module}.${field}`])

const isFirst = (local: readonly LocalProposal[], wanted: ReadonlyMap<number, SureMatch>, at: number): boolean => {
  const key = keyOf(wanted.get(at)!.target)
  const thoughtOf = (other: number) => local[other]!.candidates.find(({module, field}) => `${module}.${field}` === key)?.confidence ?? 0
  return [...wanted].every(([other, {target}]) => other === at || keyOf(target) !== key || thoughtOf(other) < thoughtOf(at))
}

const byModel = ({column, candidates}: LocalProposal, {target, confidence, note}: SureMatch): MappingProposal => {
  const field = {field: target.field.apiName, module: target.module, confidence}
  const others = candidates.filter(one => one.field !== field.field || one.module !== field.module)
  return {
    column,
    ...field,
    why: ['model'],
    by: 'model',
    note,
    candidates: [{...field, why: ['model'] as ['model']}, ...others].slice(0, mostCandidates),
  }
}

const byMatcher = ({column, field, module, confidence, candidates}: LocalProposal): MappingProposal => {
  const why = candidates.find(one => one.field === field && one.module === module)?.why ?? []
  return {column, field, module, confidence, why, by: 'local', note: null, candidates}
}
