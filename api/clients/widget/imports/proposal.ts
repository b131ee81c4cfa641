import {mapColumn} from '../../column-mapping.ts'
import {t} from '../text/mapping.ts'
import type {Field} from './fields.ts'
import {dropMapping, putMapping} from './flows.ts'
import type {Flow} from './import.ts'

/** A proposed field for a column. `confidence` is from 0 to 1. */
export type Candidate = {field: string; module: string | null; confidence: number; why: string[]}
export type Proposal = Omit<Candidate, 'field'> & {
  column: string
  field: string | null
  by: 'local' | 'model'
  note: string | null
  candidates: Candidate[]
}
export type Proposals = {proposals: Proposal[]; model: string; samples: string; credits: number}

const reasons: Record<string, string> = {
  accepted: t.acceptedBefore,
  label: t.sameAsTheLabel,
  apiName: t.sameAsTheApiName,
  localLabel: t.aLocalNameOfTheField,
  alias: t.aKnownAlias,
  similar: t.aSimilarName,
  fingerprint: t.valuesLookAlike,
  options: t.valuesMatchItsOptions,
  model: t.chosenByAi,
}

/** Returns the model's note on a proposal, else the reasons in words. */
export const sayWhy = ({why, note}: {why: readonly string[]; note?: string | null}): string =>
  note?.trim() || why.map(one => reasons[one] ?? one).join(', ') || t.noReasonGiven

/** Says why the AI model was not used. Null if the model was used, not needed or not configured. */
export const sayModel = (model: string): string | null => {
  if (model === 'no_credits') return t.theAiCreditsOfThisPeriodAre
  if (model === 'not_allowed') return t.theAiModelWasNotUsed
  return model === 'unavailable' ? t.theAiModelIsUnavailableAndNothing : null
}

/** Whether nothing fills the field yet: no mapping and no link to a parent. */
const isFree = (flow: Flow, field: string) =>
  flow.parent?.field !== field && !flow.fields.some(one => one.field === field && one.mode !== 'skip')

/** Maps a column to a field. If the column already fills another field without an expression, that mapping is removed. */
export const takeColumn = (flow: Flow, column: string, field: Field): Flow => {
  const before = flow.fields.find(
    ({mode, source, field: filled, transform, searchExpression}) =>
      source === column && filled !== field.apiName && ((mode === 'column' && !transform) || (mode === 'search' && !searchExpression)),
  )
  return putMapping(before ? dropMapping(flow, before.field) : flow, mapColumn(field, column))
}

/** Returns the proposals with at least the confidence `least` whose column and field are both unused, each with its field. */
export const sureProposals = (
  flow: Flow,
  {proposals, fields, unused, least}: {proposals: readonly Proposal[]; fields: readonly Field[]; unused: readonly string[]; least: number},
): {proposal: Proposal; field: Field}[] =>
  proposals.flatMap(proposal => {
    const field = fields.find(({apiName}) => apiName === proposal.field)
    const isOpen = field && proposal.confidence >= least && unused.includes(proposal.column) && isFree(flow, field.apiName)
    return isOpen ? [{proposal, field}] : []
  })

export const acceptAll = (flow: Flow, sure: readonly {proposal: Proposal; field: Field}[]): Flow =>
  sure.reduce((made, {proposal, field}) => takeColumn(made, proposal.column, field), flow)

/** Returns the fields that are proposed for a column and that nothing fills yet, the main proposal first. */
export const choicesFor = (
  flow: Flow,
  proposal: Proposal | undefined,
  fields: readonly Field[],
): (Candidate & {note: string | null; known: Field})[] => {
  if (!proposal) return []
  const {field, module, confidence, why, note, candidates} = proposal
  const first = field === null ? [] : [{field, module, confidence, why, note}]
  const others = candidates.filter(one => one.field !== field).map(one => ({...one, note: null}))
  return [...first, ...others].flatMap(one => {
    const known = fields.find(({apiName}) => apiName === one.field)
    return known && isFree(flow, one.field) ? [{...one, known}] : []
  })
}
