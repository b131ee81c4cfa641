import {parse} from 'csv-parse/sync'
import type {LogEntry, Run} from './journey.ts'

/** The number of rows of an import by outcome. */
export type Tally = {read: number; created: number; updated: number; skipped: number; failed: number; unanswered: number}
export type Measured = Tally & {seconds: number; rowsPerSecond: number}

/** One import by three sources: the counts of its run, its log, and the lines of results.csv (key, result, record). */
export type Imported = {tally: Measured; log: Tally; results: Line[]}
export type Line = {key: string; result: string; record: string}
export type Evidence = {keys: string[]; first: Imported; again: Imported; crmRecords: number}

export const tallyOfRun = (counts: Run['counts'], read: number): Tally => tallyOf(counts.Accounts ?? {}, read)

const tallyOf = (counts: Partial<Record<string, number>>, read: number): Tally => {
  const {created = 0, updated = 0, skipped = 0, refused = 0, failed = 0, unanswered = 0} = counts
  return {read, created, updated, skipped, failed: failed + refused, unanswered}
}

/** Counts rows of the log by the outcome of their last attempt to write. Within an attempt, an answer replaces an unanswered outcome. */
export const tallyOfLog = (entries: LogEntry[]): Tally => {
  const last = new Map<string, LogEntry>()
  for (const entry of entries) {
    const before = last.get(entry.rowKey)
    const isLater = !before || entry.attempt > before.attempt || (entry.attempt === before.attempt && entry.outcome !== 'unanswered')
    if (entry.phase === 'write' && isLater) last.set(entry.rowKey, entry)
  }
  const counts: Record<string, number> = {}
  for (const {outcome} of last.values()) counts[outcome] = (counts[outcome] ?? 0) + 1
  return tallyOf(counts, last.size)
}

export const keysOf = (csv: string) => parse<Record<string, string>>(csv, {columns: true, bom: true}).map(({iata}) => iata ?? '')

export const readResults = (csv: string): Line[] =>
  parse<Record<string, string>>(csv, {columns: true, bom: true}).map(row => ({
    key: row.iata ?? '',
    result: row.Result ?? '',
    record: row['Accounts record'] ?? '',
  }))

/** Lists the differences between the sources and the expectation as sentences. */
export const differences = ({keys, first, again, crmRecords}: Evidence) => {
  const rows = keys.length
  const made = new Set(first.results.map(({record}) => record).filter(Boolean))
  const elsewhere = again.results.filter(({record}, row) => record !== first.results[row]?.record)
  const expected: Expected[] = [
    ['created by the first import', first.tally.created, rows],
    ['created by the second import', again.tally.created, 0],
    ['different records by results.csv', made.size, rows],
    ['rows that the second import wrote to another record', elsewhere.length, 0],
    ['Accounts in the CRM', crmRecords, rows],
    ...differencesIn('first', first, keys),
    ...differencesIn('second', again, keys),
  ]
  return expected.filter(([, found, wanted]) => found !== wanted).map(([what, found, wanted]) => `${what}: ${found}, not ${wanted}`)
}

type Expected = [what: string, found: number, wanted: number]

const outcomes = ['created', 'updated', 'skipped', 'failed', 'unanswered'] as const

const differencesIn = (name: string, {tally, log, results}: Imported, keys: string[]): Expected[] => [
  [`read by the ${name} import`, tally.read, keys.length],
  [`failed in the ${name} import`, tally.failed, 0],
  [`unanswered in the ${name} import`, tally.unanswered, 0],
  [`rows that the ${name} import accounts for`, tally.created + tally.updated + tally.skipped, keys.length],
  [`rows in the log of the ${name} import`, log.read, keys.length],
  ...outcomes.map((outcome): Expected => [`${outcome} by the log of the ${name} import`, log[outcome], tally[outcome]]),
  [`lines in results.csv of the ${name} import`, results.length, keys.length],
  [`"Written" in results.csv of the ${name} import`, countResults(results, 'Written'), tally.created + tally.updated],
  [`"Skipped" in results.csv of the ${name} import`, countResults(results, 'Skipped'), tally.skipped],
  [`lines out of order in results.csv of the ${name} import`, results.filter(({key}, row) => key !== keys[row]).length, 0],
]

const countResults = (lines: Line[], wanted: string) => lines.filter(({result}) => result === wanted).length
