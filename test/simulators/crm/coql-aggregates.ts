import {compare} from './conditions.ts'
import type {Path} from './coql-columns.ts'
import type {Rec} from './store.ts'

type Column = {name: string; aggregate: string | null; alias: string | null; path: Path}

/** Returns one row with the aggregates over all matches. GROUP BY is not supported. */
export const aggregate = (columns: Column[], recs: Rec[]): Record<string, unknown> => {
  const row: Record<string, unknown> = {}
  for (const {name, aggregate: kind, alias, path} of columns) {
    if (kind)
      row[alias ?? `${kind.toUpperCase()}(${name})`] = reduce(
        kind,
        recs.map(path.raw).filter(value => value !== null),
      )
  }
  return row
}

const reduce = (kind: string, values: unknown[]): unknown => {
  if (kind === 'count') return values.length
  if (values.length === 0) return null
  if (kind === 'min' || kind === 'max') {
    const sign = kind === 'min' ? -1 : 1
    return values.reduce((best, value) => (compare(value, best, true) * sign > 0 ? value : best))
  }
  const sum = values.reduce<number>((total, value) => total + Number(value), 0)
  return kind === 'sum' ? sum : sum / values.length
}
