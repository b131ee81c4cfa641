import type {Group} from '../../run-reasons.ts'
import {listWords} from '../text/language.ts'
import {t} from '../text/runs.ts'
import {count as number} from '../ui/format.ts'
import type {Run} from './run.ts'
import {type ActionKey, actionKeys, actionWords, outcomeKeys, outcomeWords} from './tally.ts'
import {labelOfReason} from './why.ts'

/** The query parameters of the URL that filter a table of rows. */
export const filterKeys = ['source', 'module', 'outcome', 'action', 'phase', 'code', 'linkEmpty', 'text', 'from'] as const
export type Filter = Partial<Record<(typeof filterKeys)[number], string>>

export const filterIn = (query: URLSearchParams): Filter =>
  Object.fromEntries(filterKeys.flatMap(key => (query.get(key) ? [[key, query.get(key)!]] : [])))

/** Returns the id of the first counted source with rows that match the filter. */
export const sourceWith = (groups: Group[], {outcome, action, module, phase, code, linkEmpty}: Filter): string | undefined =>
  groups.find(
    group =>
      (!outcome || outcome.split(',').includes(group.outcome)) &&
      (!action || (group.action !== null && action.split(',').includes(group.action))) &&
      (!module || group.module === module) &&
      (!phase || group.phase === phase) &&
      (!linkEmpty || group.linkEmpty) &&
      (!code || group.code === code),
  )?.source

export type Option = {value: string; label: string}

/** Returns the options of each filter with row counts. The selected value is an option even if it has no rows. */
export const choicesIn = (groups: Group[], filter: Filter, {dryRun}: Pick<Run, 'dryRun'>) => {
  const count = (of: (group: Group) => string | null) => {
    const rows = new Map<string, number>()
    for (const group of groups) {
      const value = of(group)
      if (value !== null) rows.set(value, (rows.get(value) ?? 0) + group.rows)
    }
    return rows
  }
  const said = (label: string, rows: number | undefined) => (rows === undefined ? label : `${label} (${number(rows)})`)
  const list = (key: keyof Filter, rows: Map<string, number>, label: (value: string) => string): Option[] => {
    const chosen = filter[key]
    const values = [...rows.keys(), ...(chosen && !rows.has(chosen) ? [chosen] : [])]
    return [{value: '', label: t.all}, ...values.map(value => ({value, label: said(label(value), rows.get(value))}))]
  }
  const labels = new Map(groups.map(({module, moduleLabel}) => [module, moduleLabel]))
  const sorted = (rows: Map<string, number>, keys: readonly string[]) =>
    new Map(keys.flatMap(key => (rows.has(key) ? [[key, rows.get(key)!]] : [])))
  return {
    module: list(
      'module',
      count(({module, outcome}) => (outcome === 'lookup' ? null : module)),
      value => labels.get(value) ?? value,
    ),
    outcome: dryRun
      ? []
      : list(
          'outcome',
          sorted(
            count(({phase, outcome}) => (phase === 'write' ? outcome : null)),
            outcomeKeys,
          ),
          sayOutcome,
        ),
    action: dryRun
      ? list(
          'action',
          sorted(
            count(({action}) => action),
            actionKeys,
          ),
          sayAction,
        )
      : [],
    code: list(
      'code',
      count(({code, outcome}) => (outcome === 'would_ask' ? null : code)),
      labelOfReason,
    ),
  }
}

/** Returns the label of an outcome, or of several outcomes separated by commas. */
export const sayOutcome = (value: string): string =>
  listWords(
    value.split(',').map(one => outcomeWords[one as keyof typeof outcomeWords]?.word ?? otherOutcomes[one] ?? one),
    'disjunction',
  )

const otherOutcomes: Record<string, string> = {lookup: t.lookup, would_ask: t.wouldAsk, made_after_no_answer: t.createdAfterNoAnswer}

const sayAction = (value: string): string =>
  listWords(
    value.split(',').map(one => actionWords[one as ActionKey]?.word ?? one),
    'disjunction',
  )
