import type {Group} from '../../run-reasons.ts'
import {t} from '../text/decide.ts'
import type {Filter} from './rows-query.ts'

export const REVIEW_TABS = {
  all: {label: t.all, filter: {}},
  ready: {label: t.ready, filter: {phase: 'write', action: 'create,update,delete,replace,restore'}},
  errors: {label: t.errors, filter: {phase: 'write', action: 'fail'}},
  updates: {label: t.updates, filter: {phase: 'write', action: 'update'}},
  questions: {label: t.questions, filter: {action: 'ask'}},
  unchanged: {label: t.unchanged, filter: {phase: 'write', code: 'UNCHANGED'}},
  skipped: {label: t.skipped, filter: {phase: 'write', action: 'skip'}},
  later: {label: t.filledInAfterwards, filter: {phase: 'patch'}},
} satisfies Record<string, {label: string; filter: Filter}>
export type ReviewTab = keyof typeof REVIEW_TABS

/**
 * Returns the tab named in the URL. URLs of earlier versions have a filter instead: an `action` that equals a tab's filter opens that tab, and a
 * `code` or `outcome` opens the errors. All other URLs open all rows.
 */
export const tabOf = (query: URLSearchParams): ReviewTab => {
  const named = query.get('tab') ?? ''
  if (named in REVIEW_TABS) return named as ReviewTab
  const action = query.get('action')
  const found = (Object.keys(REVIEW_TABS) as ReviewTab[]).find(tab => (REVIEW_TABS[tab].filter as Filter).action === action)
  return action && found ? found : query.get('code') || query.get('outcome') ? 'errors' : 'all'
}

export const tabOfGroup = ({phase, action}: Group): ReviewTab => {
  if (phase === 'patch') return 'later'
  return action === 'skip' ? 'skipped' : action === 'ask' ? 'questions' : 'errors'
}

/** Counts the rows of a tab, without lookups. A row that several flows read is counted once for each flow. */
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
