import {type Json, readPages} from '../../http.ts'
import type {Session} from '../session.ts'
import type {ExpectedCounts, ExpectedRow} from './case.ts'
import {type Difference, differ, show} from './difference.ts'

/** The entries of one row in one run. `slot` is the template slot of its file. */
export type RowEntries = {slot: string; row: number; entries: Json[]}
export type Counts = Record<string, Record<string, number>>

/** Reads the rows of all files of a run. `slots` maps source ids to slots. */
export const readRows = async ({client, path}: Session, run: Json, slots: Record<string, string>): Promise<RowEntries[]> => {
  const at = path(`imports/${run.importId}/runs/${run.id}/rows`)
  const rows: RowEntries[] = []
  for (const [source, slot] of Object.entries(slots))
    for await (const {rowNumber, entries} of readPages(client, at, 'rows', {source, limit: 200})) rows.push({slot, row: rowNumber, entries})
  return rows
}

/**
 * Returns the counts of the last run of a retry chain, plus the created and updated rows of its earlier runs. Leaves out inherited rows, which the
 * counts of the earlier runs already include.
 */
export const chainCounts = (runs: readonly Json[]): Counts => {
  const last = structuredClone(runs.at(-1)!.counts) as Counts
  for (const counts of Object.values(last)) delete counts.inherited
  for (const {counts} of runs.slice(0, -1))
    for (const [module, of] of Object.entries(counts as Counts))
      for (const outcome of ['created', 'updated'] as const)
        if (of[outcome]) last[module] = {...last[module], [outcome]: (last[module]?.[outcome] ?? 0) + of[outcome]}
  return last
}

/**
 * Merges the rows of a retry chain. The entries of a later run replace earlier ones. An inherited entry is replaced by the created and
 * updated entries of the same row and module in earlier runs.
 */
export const chainRows = (runs: readonly (readonly RowEntries[])[]): RowEntries[] => {
  const all = new Map<string, RowEntries>()
  for (const rows of runs)
    for (const one of rows) {
      const key = `${one.slot} ${one.row}`
      const entries = one.entries.flatMap(entry => {
        if (entry.outcome !== 'inherited') return [entry]
        return (
          all.get(key)?.entries.filter(({module, outcome}) => module === entry.module && ['created', 'updated'].includes(outcome)) ?? [
            entry,
          ]
        )
      })
      all.set(key, {...one, entries})
    }
  return [...all.values()]
}

const badOutcomes = ['refused', 'failed', 'unanswered', 'skipped']
const mostReasons = 5

/**
 * Compares counts by outcome. Outcomes that the case leaves out must be 0. The first five rows with an unexpected bad outcome are reported
 * too.
 */
export const compareCounts = (expected: ExpectedCounts, found: Counts, rows: readonly RowEntries[]): Difference[] => {
  const isPerModule = Object.values(expected).some(value => typeof value === 'object')
  const parts: [module: string | null, wanted: Record<string, number>, found: Record<string, number>][] = isPerModule
    ? [...new Set([...Object.keys(expected), ...Object.keys(found)])].map(module => [
        module,
        (expected[module] as Record<string, number>) ?? {},
        found[module] ?? {},
      ])
    : [[null, expected as Record<string, number>, sum(found)]]
  const differences = parts.flatMap(([module, wanted, counts]) =>
    [...new Set([...Object.keys(wanted), ...Object.keys(counts)])]
      .filter(outcome => (wanted[outcome] ?? 0) !== (counts[outcome] ?? 0))
      .map(outcome => ({module, outcome, wanted: wanted[outcome] ?? 0, found: counts[outcome] ?? 0})),
  )
  const unexpected = differences.filter(({outcome, wanted, found: count}) => badOutcomes.includes(outcome) && count > wanted)
  const isUnexpected = ({module, outcome}: Json) =>
    unexpected.some(one => one.outcome === outcome && (one.module === null || one.module === module))
  return [
    ...differences.map(({module, outcome, wanted, found: count}) => differ(`${count} ${outcome} instead of ${wanted}`, {module})),
    ...rows.flatMap(({row, entries}) => entries.filter(isUnexpected).map(entry => describeEntry(row, entry))).slice(0, mostReasons),
  ]
}

const sum = (counts: Counts): Record<string, number> => {
  const total: Record<string, number> = {}
  for (const of of Object.values(counts)) for (const [outcome, count] of Object.entries(of)) total[outcome] = (total[outcome] ?? 0) + count
  return total
}

const describeEntry = (row: number, {module, field, outcome, code, message}: Json): Difference =>
  differ(`${outcome}${code ? ` (${code})` : ''}${message ? `: ${message}` : ''}`, {module, field, row})

/** Compares the rows that the case names: by number, or by slot and number. */
export const compareRows = (expected: Record<string, ExpectedRow>, rows: readonly RowEntries[]): Difference[] =>
  Object.entries(expected).flatMap(([key, wanted]) => {
    if (/^\d+$/.test(key)) return compareRow(Number(key), wanted, rows.find(({row}) => row === Number(key))?.entries ?? [])
    const own = rows.filter(({slot}) => slot === key)
    return compareRows(wanted as Record<string, ExpectedRow>, own)
  })

const compareRow = (row: number, wanted: ExpectedRow, entries: readonly Json[]): Difference[] => {
  if (typeof wanted === 'object' && !('outcome' in wanted))
    return Object.entries(wanted).flatMap(([module, one]) =>
      compareRow(
        row,
        one as ExpectedRow,
        entries.filter(entry => entry.module === module),
      ),
    )
  const keys = typeof wanted === 'string' ? {outcome: wanted} : wanted
  const isWanted = (entry: Json) => Object.entries(keys).every(([key, value]) => entry[key] === value)
  if (entries.some(isWanted)) return []
  if (entries.length === 0) return [differ(`nothing instead of ${show(wanted)}`, {row})]
  return entries.map(entry => {
    const {message, ...more} = describeEntry(row, entry)
    return {...more, message: `${message}, instead of ${typeof wanted === 'string' ? wanted : show(wanted)}`}
  })
}
