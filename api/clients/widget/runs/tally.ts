import type {Group} from '../../run-reasons.ts'
import type {Counts, Run} from './run.ts'

/** The label, explanation and colour of an outcome. */
type OutcomeWords = {word: string; means: string; tone: 'good' | 'info' | 'neutral' | 'bad' | 'warning'}

/** All outcomes of a row, in display order. */
export const outcomeKeys = ['created', 'updated', 'planned', 'inherited', 'skipped', 'filtered', 'failed', 'refused', 'unanswered'] as const
export type OutcomeKey = (typeof outcomeKeys)[number]

export const outcomeWords: Record<OutcomeKey, OutcomeWords> = {
  created: {word: 'Created', means: 'a record was created', tone: 'good'},
  updated: {word: 'Updated', means: 'a record was updated', tone: 'info'},
  planned: {word: 'Would be written', means: 'a record would be created or updated', tone: 'good'},
  inherited: {word: 'Already written', means: 'an earlier run wrote it', tone: 'neutral'},
  skipped: {word: 'Skipped', means: 'left unchanged by the mapping, or waiting for your answer', tone: 'neutral'},
  filtered: {word: 'Filtered out', means: 'excluded by a filter', tone: 'neutral'},
  failed: {word: 'Failed', means: 'not sent, because a value or lookup failed', tone: 'bad'},
  refused: {word: 'Refused', means: 'refused by the CRM', tone: 'bad'},
  unanswered: {word: 'No answer', means: 'the CRM did not answer, so it may or may not be written', tone: 'warning'},
}

const undoWords: Partial<Record<OutcomeKey, OutcomeWords>> = {
  updated: {word: 'Undone', means: 'the record was restored or deleted', tone: 'good'},
  planned: {word: 'Would be undone', means: 'the record would be restored or deleted', tone: 'good'},
  skipped: {word: 'Kept', means: 'changed since, gone, or the same as before', tone: 'neutral'},
  refused: {word: 'Refused', means: 'refused by the CRM, so the record is as the run left it', tone: 'bad'},
}

/** An import that deletes writes nothing else. */
const deleteWords: Partial<Record<OutcomeKey, OutcomeWords>> = {
  updated: {word: 'Deleted', means: 'the record was deleted', tone: 'info'},
  planned: {word: 'Would be deleted', means: 'the record would be deleted', tone: 'info'},
  skipped: {word: 'Skipped', means: 'no record matched, or several', tone: 'neutral'},
}

/** Returns the words of an outcome. The outcomes of an undo, and of a run that deletes, have their own. */
export const wordsOf = ({undoOf, deleted = 0}: Pick<Run, 'undoOf' | 'deleted'>, key: OutcomeKey): OutcomeWords =>
  (undoOf ? undoWords[key] : deleted > 0 ? deleteWords[key] : undefined) ?? outcomeWords[key]

/** Sums the rows of each outcome, of all modules or of one. */
export const sumCounts = (counts: Counts, module?: string): Record<OutcomeKey, number> => {
  const sum = Object.fromEntries(outcomeKeys.map(key => [key, 0])) as Record<OutcomeKey, number>
  for (const [name, of] of Object.entries(counts))
    if (module === undefined || name === module) for (const key of outcomeKeys) sum[key] += of[key] ?? 0
  return sum
}

/** Counts the rows whose record this run wrote. */
export const writtenOf = ({counts}: Pick<Run, 'counts'>): number => {
  const {created, updated} = sumCounts(counts)
  return created + updated
}

const totalOf = (sum: Record<OutcomeKey, number>): number => outcomeKeys.reduce((total, key) => total + sum[key], 0)

export type Account = {
  lines: {key: OutcomeKey; rows: number; byModule: number[]}[]
  modules: string[]
  told: number
  total: number | null
  /** Rows without an outcome, because the run stopped before them. */
  notReached: number
  isWhole: boolean
}

/** Accounts for all rows of a run by outcome. Reported rows and unreached rows add up to the total. */
export const accountOf = ({counts, progress}: Pick<Run, 'counts' | 'progress'>): Account => {
  const sum = sumCounts(counts)
  const modules = Object.keys(counts)
  const told = totalOf(sum)
  const total = progress?.total ?? null
  const lines = outcomeKeys
    .filter(key => sum[key] > 0)
    .map(key => ({key, rows: sum[key], byModule: modules.map(module => counts[module]?.[key] ?? 0)}))
  const notReached = total === null ? 0 : Math.max(0, total - told)
  return {lines, modules, told, total, notReached, isWhole: total !== null && told === total}
}

/** Returns how many rows a retry would write. */
export const leftOf = (run: Pick<Run, 'counts' | 'progress' | 'unchanged' | 'keptRows'>): number => {
  const {failed, refused, unanswered, skipped} = sumCounts(run.counts)
  return failed + refused + unanswered + skipped - (run.unchanged ?? 0) - (run.keptRows ?? 0) + accountOf(run).notReached
}

/** Returns how many links of written rows are empty. */
export const emptyLinksOf = ({linksEmpty = []}: Pick<Run, 'linksEmpty'>): number => linksEmpty.reduce((sum, {rows}) => sum + rows, 0)

export const actionKeys = ['create', 'update', 'delete', 'restore', 'replace', 'patch', 'ask', 'skip', 'fail'] as const
export type ActionKey = (typeof actionKeys)[number]
export const actionWords: Record<ActionKey, OutcomeWords> = {
  create: {word: 'Create', means: 'a record would be created', tone: 'good'},
  update: {word: 'Update', means: 'a record would be updated', tone: 'info'},
  delete: {word: 'Delete', means: 'the record would be deleted', tone: 'bad'},
  restore: {word: 'Restore', means: 'the record would get its earlier values back', tone: 'info'},
  replace: {word: 'Replace', means: 'the rows of a subform would be replaced', tone: 'info'},
  patch: {word: 'Patch', means: 'some fields would be updated afterwards', tone: 'info'},
  ask: {word: 'Ask', means: 'several records match, so you would be asked', tone: 'warning'},
  skip: {word: 'Skip', means: 'it would be left unchanged', tone: 'neutral'},
  fail: {word: 'Fail', means: 'it could not be sent', tone: 'bad'},
}

export type PlanLine = {module: string; label: string; actions: Record<ActionKey, number>}

/** Returns the number of planned rows by module and action. */
export const planOf = (groups: Group[]): PlanLine[] => {
  const lines = new Map<string, PlanLine>()
  for (const {module, moduleLabel, action, rows} of groups) {
    if (action === null) continue
    const none = Object.fromEntries(actionKeys.map(key => [key, 0])) as Record<ActionKey, number>
    const line = lines.get(module) ?? {module, label: moduleLabel, actions: none}
    line.actions[action as ActionKey] += rows
    lines.set(module, line)
  }
  return [...lines.values()]
}
