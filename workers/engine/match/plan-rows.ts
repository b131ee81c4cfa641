import {compareAge} from '../../../shared/crm/record-age.ts'
import type {Decision} from '../../../sql/decisions.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'

import type {ChainMatches} from './match-rows.ts'

export type RowPlan =
  | {do: 'create'}
  | {do: 'update' | 'delete'; target: string}
  /** Sends nothing, because the record may already exist. */
  | {do: 'wait'; code: 'KEY_UNANSWERED'; message: string}
  | SkipPlan

/** Ends the row without a write. `asks`: the records from which a user must choose, possibly none; null if the row raises no question. */
export type SkipPlan = {
  do: 'skip'
  code: 'MATCH_ONE' | 'MATCH_MANY' | 'MATCH_SKIPPED' | 'MATCH_EMPTY' | 'MATCH_NONE' | 'UNCHANGED' | 'GONE' | 'PLAN_STALE'
  message: string
  recordId: string | null
  asks: string[] | null
}

/**
 * Plans a row from the records that it matches and from a user's decision made before the run. Records that the chain wrote are matches
 * too. The oldest match comes first. Pure, so a dry run plans what a real run does.
 */
export const planStep = (row: ImportRow, flow: PlanRowOptions, ours: ChainMatches = NOTHING, decision: Decision | null = null): RowPlan => {
  if (flow.deletes) return planDelete(row)
  if (row.decided) return row.decided.kind === 'update' ? {do: 'update', target: row.decided.target!} : {do: 'create'}
  const isKnown = ours !== NOTHING || row.matches.length > 0 || decision !== null
  return isKnown ? planMatches(row, flow, ours, decision) : {do: 'create'}
}

const planMatches = (row: ImportRow, flow: PlanRowOptions, ours: ChainMatches, decision: Decision | null): RowPlan => {
  const matches = [...new Set([...ours.records, ...row.matches])].sort(compareAge)
  const choice = flow.onMany === 'ask' ? (decision?.choice ?? null) : flow.onMany
  // If the chosen record no longer matches, the user is asked again, however many other records match.
  if (choice === 'record' && !matches.includes(decision!.recordId!))
    return planQuestion(matches, 'The record chosen for this row no longer matches')
  if (matches.length === 0) return waitForKey(row, flow, ours) ?? {do: 'create'}
  const isUnchanged = (id: string) => row.unchanged?.includes(id) === true && !ours.records.includes(id)
  if (matches.length === 1) return planMatch(flow, matches[0]!, isUnchanged)
  if (choice === 'record') return planMatch(flow, decision!.recordId!, isUnchanged)
  if (choice === 'first') return planMatch(flow, matches[0]!, isUnchanged)
  if (choice === 'create') return {do: 'create'}
  if (choice === null) return planQuestion(matches, `${matches.length} records match`)
  const [code, explanation] = decision
    ? (['MATCH_SKIPPED', 'a user chose to skip the row'] as const)
    : (['MATCH_MANY', 'none was written'] as const)
  return {do: 'skip', code, message: `${matches.length} records match; ${explanation}`, recordId: null, asks: null}
}

/**
 * Plans a row of a flow that deletes, whatever its match options say. A delete that was sent earlier keeps its target. A row with a match
 * key that matches exactly one record deletes the record. Any other row is skipped.
 */
const planDelete = ({decided, matchKey, matches}: Pick<ImportRow, 'decided' | 'matchKey' | 'matches'>): RowPlan => {
  if (decided) return {do: 'delete', target: decided.target!}
  if (!matchKey) return planKept('MATCH_EMPTY', 'A match field of the row is empty, so no record was deleted')
  const [target, ...others] = new Set(matches)
  if (target === undefined) return planKept('MATCH_NONE', 'No record matches, so none was deleted')
  return others.length > 0 ? planKept('MATCH_MANY', `${others.length + 1} records match; none was deleted`) : {do: 'delete', target}
}

/** Returns the plan that skips a row of a delete flow. */
export const planKept = (code: SkipPlan['code'], message: string, recordId: string | null = null): SkipPlan => ({
  do: 'skip',
  code,
  message,
  recordId,
  asks: null,
})

type PlanRowOptions = Pick<CompiledFlow, 'onOne' | 'onMany'> & Partial<Pick<CompiledFlow, 'matchFields' | 'deletes'>>

const NOTHING: ChainMatches = {records: [], unanswered: []}

/**
 * Makes a row wait if the create of another row with the same match key is unanswered, because the record of that row may exist. A row with
 * a unique match field does not wait, because the CRM refuses a second record. A flow that always creates does not wait either.
 */
const waitForKey = ({key}: ImportRow, {matchFields = [], onOne}: PlanRowOptions, {unanswered}: ChainMatches): RowPlan | null => {
  const other = unanswered.find(one => one.key !== key)
  if (!other || onOne === 'create' || matchFields.some(({unique}) => unique)) return null
  const message = `Row ${other.number} has the same match value, and its create was never answered: look for its record in the CRM, then retry the run`
  return {do: 'wait', code: 'KEY_UNANSWERED', message}
}

const planQuestion = (matches: string[], why: string): RowPlan => ({
  do: 'skip',
  code: 'MATCH_MANY',
  message: `${why}: answer the run's questions, then retry it`,
  recordId: null,
  asks: matches,
})

export const planUnchanged = (recordId: string): SkipPlan => ({
  do: 'skip',
  code: 'UNCHANGED',
  message: 'The record already holds these values',
  recordId,
  asks: null,
})

/** `isUnchanged`: false for a record that the chain wrote, because the write may be newer than the read. */
const planMatch = ({onOne}: Pick<CompiledFlow, 'onOne'>, target: string, isUnchanged: (id: string) => boolean): RowPlan => {
  if (onOne === 'create') return {do: 'create'}
  if (onOne === 'update' && isUnchanged(target)) return planUnchanged(target)
  if (onOne === 'update') return {do: 'update', target}
  const message = 'The record already exists and was not changed'
  return {do: 'skip', code: 'MATCH_ONE', message, recordId: target, asks: null}
}
