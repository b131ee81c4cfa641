import type {Group} from '../../run-reasons.ts'
import {t} from '../text/decide.ts'
import type {Filter} from './rows-query.ts'

/** The tabs of a review, with the filter that selects the rows of each. */
export const REVIEW_TABS = {
  all: {label: t.all, filter: {}},
  ready: {label: t.ready, filter: {phase: 'write', action: 'create,update,delete,replace'}},
  errors: {label: t.errors, filter: {phase: 'write', action: 'fail'}},
  updates: {label: t.updates, filter: {phase: 'write', action: 'update'}},
  questions: {label: t.questions, filter: {action: 'ask'}},
  unchanged: {label: t.unchanged, filter: {phase: 'write', code: 'UNCHANGED'}},
  skipped: {label: t.skipped, filter: {phase: 'write', action: 'skip'}},
  later: {label: t.filledInAfterwards, filter: {phase: 'patch'}},
} satisfies Record<string, {label: string; filter: Filter}>
export type ReviewTab = keyof typeof REVIEW_TABS

/**
 * Returns the tab that the URL names. URLs of earlier versions have a filter instead. An action that is the filter of a tab opens that tab;
 * otherwise, a code or outcome opens the errors. Any other URL opens all rows.
 */
export const tabOf = (query: URLSearchParams): ReviewTab => {
  const named = query.get('tab') ?? ''
  if (named in REVIEW_TABS) return named as ReviewTab
  const action = query.get('action')
  const found = (Object.keys(REVIEW_TABS) as ReviewTab[]).find(tab => (REVIEW_TABS[tab].filter as Filter).action === action)
  return action && found ? found : query.get('code') || query.get('outcome') ? 'errors' : 'all'
}

/** Returns the tab for a group of patches, skipped rows or questions. Any other group gets the tab of errors. */
export const tabOfGroup = ({phase, action}: Group): ReviewTab => {
  if (phase === 'patch') return 'later'
  return action === 'skip' ? 'skipped' : action === 'ask' ? 'questions' : 'errors'
}

/**
 * Counts the rows of a tab. A row that several flows read counts once for each flow. A tab whose filter has the phase `write` counts only this
 * phase, as the run's counts do. Lookups are never counted.
 */
export const countTab = (tab: ReviewTab, groups: readonly Group[]): number => {
  const {action, code, phase} = REVIEW_TABS[tab].filter as Filter
  return groups.reduce((sum, group) => {
    if (group.action === null || group.phase === 'lookup') return sum
    if (phase && group.phase !== phase) return sum
    if (action && !action.split(',').includes(group.action)) return sum
    if (code && group.code !== code) return sum
    return sum + group.rows
  }, 0)
}
