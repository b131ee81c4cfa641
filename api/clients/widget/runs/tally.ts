import type {Group} from '../../run-reasons.ts'
import {deletesRecords} from '../../run-state.ts'
import {t} from '../text/runs.ts'
import {type Counts, isUndone, type Run} from './run.ts'

type OutcomeWords = {word: string; means: string; tone: 'good' | 'info' | 'neutral' | 'bad' | 'warning'}

/** All outcomes of a row, in display order. */
export const outcomeKeys = ['created', 'updated', 'planned', 'inherited', 'skipped', 'filtered', 'failed', 'refused', 'unanswered'] as const
export type OutcomeKey = (typeof outcomeKeys)[number]

export const outcomeWords: Record<OutcomeKey, OutcomeWords> = {
  created: {word: t.created, means: t.aRecordWasCreated, tone: 'good'},
  updated: {word: t.updated, means: t.aRecordWasUpdated, tone: 'info'},
  planned: {word: t.wouldBeWrittenWord, means: t.aRecordWouldBeCreatedOrUpdated, tone: 'good'},
  inherited: {word: t.alreadyWrittenWord, means: t.anEarlierRunWroteIt, tone: 'neutral'},
  skipped: {word: t.skipped, means: t.leftUnchangedByTheMappingOrWaiting, tone: 'neutral'},
  filtered: {word: t.filteredOutWord, means: t.excludedByAFilter, tone: 'neutral'},
  failed: {word: t.failedWord, means: t.notSentBecauseAValueOrLookup, tone: 'bad'},
  refused: {word: t.refused, means: t.refusedByTheCrm, tone: 'bad'},
  unanswered: {word: t.noAnswer, means: t.theCrmDidNotAnswerSoIt, tone: 'warning'},
}

const undoWords: Partial<Record<OutcomeKey, OutcomeWords>> = {
  updated: {word: t.undone, means: t.theRecordWasRestoredOrDeleted, tone: 'good'},
  planned: {word: t.wouldBeUndone, means: t.theRecordWouldBeRestoredOrDeleted, tone: 'good'},
  skipped: {word: t.kept, means: t.changedSinceGoneOrTheSameAs, tone: 'neutral'},
  refused: {word: t.refused, means: t.refusedByTheCrmSoTheRecord, tone: 'bad'},
}

/** The words for a run that deletes records. Its written rows are all deletions. */
const deleteWords: Partial<Record<OutcomeKey, OutcomeWords>> = {
  updated: {word: t.deleted, means: t.theRecordWasDeleted, tone: 'info'},
  planned: {word: t.wouldBeDeleted, means: t.theRecordWouldBeDeleted, tone: 'info'},
  skipped: {word: t.skipped, means: t.noRecordMatchedOrSeveral, tone: 'neutral'},
}

export const wordsOf = (run: Pick<Run, 'undoOf' | 'deletes' | 'deleted'>, key: OutcomeKey): OutcomeWords =>
  (run.undoOf ? undoWords[key] : deletesRecords(run) ? deleteWords[key] : undefined) ?? outcomeWords[key]

export const sumCounts = (counts: Counts, module?: string): Record<OutcomeKey, number> => {
  const sum = Object.fromEntries(outcomeKeys.map(key => [key, 0])) as Record<OutcomeKey, number>
  for (const [name, of] of Object.entries(counts))
    if (module === undefined || name === module) for (const key of outcomeKeys) sum[key] += of[key] ?? 0
  return sum
}

/** Returns how many rows the runs wrote. Leaves out dry runs, undos, and runs that another run of the list undid. */
export const writtenBy = (runs: readonly Run[]): number =>
  runs
    .filter(run => !run.dryRun && !run.undoOf && !isUndone(runs, run))
    .map(({counts}) => sumCounts(counts))
    .reduce((sum, {created, updated}) => sum + created + updated, 0)

const totalOf = (sum: Record<OutcomeKey, number>): number => outcomeKeys.reduce((total, key) => total + sum[key], 0)

export type Account = {
  lines: {key: OutcomeKey; rows: number; byModule: number[]}[]
  modules: string[]
  told: number
  total: number | null
  /** Rows without an outcome, because the run has not reached them. 0 if the total is not known. */
  notReached: number
  isWhole: boolean
}

/** Accounts for all rows of a run. `told`: rows with an outcome. `total`: null if the progress is not known. */
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

/**
 * Returns how many rows a retry would process: rows that need attention, rows that the run did not reach, and skipped rows. Unchanged rows and rows
 * in `keptRows` are not included.
 */
export const leftOf = (run: Pick<Run, 'counts' | 'progress' | 'unchanged' | 'keptRows'>): number => {
  const {failed, refused, unanswered, skipped} = sumCounts(run.counts)
  return failed + refused + unanswered + skipped - (run.unchanged ?? 0) - (run.keptRows ?? 0) + accountOf(run).notReached
}

export const emptyLinksOf = ({linksEmpty = []}: Pick<Run, 'linksEmpty'>): number => linksEmpty.reduce((sum, {rows}) => sum + rows, 0)

export const actionKeys = ['create', 'update', 'delete', 'restore', 'replace', 'patch', 'ask', 'skip', 'fail'] as const
export type ActionKey = (typeof actionKeys)[number]
export const actionWords: Record<ActionKey, OutcomeWords> = {
  create: {word: t.create, means: t.aRecordWouldBeCreated, tone: 'good'},
  update: {word: t.update, means: t.aRecordWouldBeUpdated, tone: 'info'},
  delete: {word: t.deleteWord, means: t.theRecordWouldBeDeleted, tone: 'bad'},
  restore: {word: t.restore, means: t.theRecordWouldGetItsEarlierValues, tone: 'info'},
  replace: {word: t.replace, means: t.theRowsOfASubformWouldBe, tone: 'info'},
  patch: {word: t.patch, means: t.someFieldsWouldBeUpdatedAfterwards, tone: 'info'},
  ask: {word: t.ask, means: t.severalRecordsMatchSoYouWouldBe, tone: 'warning'},
  skip: {word: t.skip, means: t.itWouldBeLeftUnchanged, tone: 'neutral'},
  fail: {word: t.fail, means: t.itCouldNotBeSent, tone: 'bad'},
}

export type PlanLine = {module: string; label: string; actions: Record<ActionKey, number>}

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
