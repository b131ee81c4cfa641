import {type MatchColumn, type MatchField, proposeMapping} from '../../shared/assistant/matcher/propose.ts'
import {fieldsOf, readTables} from '../evaluation/evaluate.ts'
import {medianOf} from './median.ts'

const rounds = 41
const [wide, many] = [60, 120]

/** Columns with real header names and ten values each, to be matched with the fields of several modules. */
const columns: MatchColumn[] = readTables('headers.json')
  .flatMap(({columns: names}) => Object.keys(names))
  .filter((name, at, all) => all.indexOf(name) === at)
  .slice(0, wide)
  .map((name, at) => ({name, samples: Array.from({length: 10}, (_, row) => `${name} ${at * row}`)}))
const fields: MatchField[] = ['Contacts', 'Accounts', 'Deals', 'Products'].flatMap(fieldsOf).slice(0, many)

/**
 * Measures the proposals for 60 columns with samples and 120 fields. Returns the median of the times in ms. Also returns the median of their
 * ratios to the time for plain Levenshtein distances of every name to every label, measured in the same rounds.
 */
export const measureAutoMap = async () => {
  if (columns.length !== wide || fields.length !== many) throw new Error('There are too few columns or fields')
  const measured = {ours: [] as number[], plain: [] as number[]}
  for (let round = 0; round <= rounds; round++) {
    measured.plain.push(millisecondsOf(measureAll))
    measured.ours.push(millisecondsOf(() => proposeMapping({columns, fields})))
  }
  const [, ...ratios] = measured.ours.map((ours, round) => ours / measured.plain[round]!)
  return {autoMapOverLevenshtein: medianOf(ratios), autoMapMilliseconds: medianOf(measured.ours.slice(1))}
}

const millisecondsOf = (work: () => unknown): number => {
  const start = performance.now()
  work()
  return performance.now() - start
}

const measureAll = (): number =>
  columns.reduce((sum, {name}) => sum + fields.reduce((all, {label}) => all + distance(name.toLowerCase(), label.toLowerCase()), 0), 0)

const distance = (a: string, b: string): number => {
  let previous = Array.from({length: b.length + 1}, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++)
      row.push(Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    previous = row
  }
  return previous[b.length]!
}
