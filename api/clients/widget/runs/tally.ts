import type {Counts, Run} from './run.ts'

/** A word for something, what it means in half a sentence, and the tone it is told in. */
type Said = {word: string; means: string; tone: 'good' | 'info' | 'neutral' | 'bad' | 'warning'}

/** Every way a row can end, in the order it is told, with the word for it. */
export const outcomeKeys = [
  ...(['created', 'updated', 'planned', 'inherited', 'skipped', 'filtered', 'failed', 'refused', 'unanswered'] as const),
] as const
export type OutcomeKey = (typeof outcomeKeys)[number]

export const outcomeWords: Record<OutcomeKey, Said> = {
  created: {word: 'Created', means: 'a record was made', tone: 'good'},
  updated: {word: 'Updated', means: 'a record was changed', tone: 'info'},
  planned: {word: 'Would be written', means: 'a record would be made or changed', tone: 'good'},
  inherited: {word: 'Written before', means: 'an earlier run of this chain had written it', tone: 'neutral'},
  skipped: {word: 'Skipped', means: 'left as it is, as the mapping says, or until you answer', tone: 'neutral'},
  filtered: {word: 'Filtered out', means: 'a filter of the mapping kept it back', tone: 'neutral'},
  failed: {word: 'Failed', means: 'not sent: a value or a link did not come out', tone: 'bad'},
  refused: {word: 'Refused', means: 'sent, and the CRM declined it', tone: 'bad'},
  unanswered: {word: 'No answer', means: 'sent, and the CRM did not answer: it may or may not be written', tone: 'warning'},
}

/** Rows by outcome, of all modules together or of one. */
export const sumCounts = (counts: Counts, module?: string): Record<OutcomeKey, number> => {
  const sum = Object.fromEntries(outcomeKeys.map(key => [key, 0])) as Record<OutcomeKey, number>
  for (const [name, of] of Object.entries(counts))
    if (module === undefined || name === module) for (const key of outcomeKeys) sum[key] += of[key] ?? 0
  return sum
}

export const totalOf = (sum: Record<OutcomeKey, number>): number => outcomeKeys.reduce((total, key) => total + sum[key], 0)

export type Account = {
  lines: {key: OutcomeKey; rows: number; byModule: number[]}[]
  modules: string[]
  told: number
  total: number | null
  /** Rows of the files that nothing is told of: a run that was stopped did not come to them. */
  notReached: number
  isWhole: boolean
}

/** Every row of a run's files, by what became of it: what is told and what was not reached add up to what there is. */
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

/** Rows a retry would do again. */
export const leftOf = (run: Pick<Run, 'counts' | 'progress'>): number => {
  const {failed, refused, unanswered, skipped} = sumCounts(run.counts)
  return failed + refused + unanswered + skipped + accountOf(run).notReached
}

export type Group = {
  /** The file. */
  source: string
  module: string
  moduleLabel: string
  phase: 'write' | 'patch' | 'match' | 'lookup'
  outcome: string
  action: string | null
  code: string | null
  field: string | null
  fieldLabel: string | null
  rows: number
  firstRow: number
  message: string | null
}

const nameOf = ({source, module, phase, outcome, action, code, field}: Group) =>
  JSON.stringify([source, module, phase, outcome, action, code, field])

/** Groups of several pages or files as one list, the largest first. */
export const mergeGroups = (before: Group[], more: Group[]): Group[] => {
  const merged = new Map(before.map(group => [nameOf(group), group]))
  for (const group of more) {
    const known = merged.get(nameOf(group))
    merged.set(nameOf(group), known ? {...known, rows: known.rows + group.rows} : group)
  }
  return [...merged.values()].toSorted((a, b) => b.rows - a.rows)
}

const problems = new Set(['failed', 'refused', 'unanswered'])

/** Why rows were not written, the most frequent reason first. `skipped` with a code is a reason too: the row waits for somebody, or was refused by a rule. */
export const reasonsOf = (groups: Group[]): Group[] =>
  groups.filter(({outcome, code}) => problems.has(outcome) || (outcome === 'skipped' && code !== null)).toSorted((a, b) => b.rows - a.rows)

export const actionKeys = ['create', 'update', 'replace', 'patch', 'ask', 'skip', 'fail'] as const
export type ActionKey = (typeof actionKeys)[number]
export const actionWords: Record<ActionKey, Said> = {
  create: {word: 'Create', means: 'a record would be made', tone: 'good'},
  update: {word: 'Update', means: 'a record would be changed', tone: 'info'},
  replace: {word: 'Replace', means: 'the rows of a subform would be replaced', tone: 'info'},
  patch: {word: 'Patch', means: 'single fields would be changed afterwards', tone: 'info'},
  ask: {word: 'Ask', means: 'several records match: you would be asked which', tone: 'warning'},
  skip: {word: 'Skip', means: 'it would be left as it is', tone: 'neutral'},
  fail: {word: 'Fail', means: 'it could not be sent', tone: 'bad'},
}

export type PlanLine = {module: string; label: string; actions: Record<ActionKey, number>}

/** What a dry run would do, rows by module and action. */
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
