import {t} from '../text/contracts.ts'
import {count, exactPercent} from '../ui/format.ts'

export type Breach = {
  slot: string
  label: string
  column: string | null
  expectation: string
  expected: Record<string, unknown>
  actual: Record<string, unknown>
  message: string
}

const numberIn = (value: unknown) => Number(value ?? 0)
const limitIn = (value: unknown) => (value === null || value === undefined ? t.breaches.anyNumber : count(Number(value)))

const sentences: Record<string, (breach: Breach) => string> = {
  column: ({column}) => t.breaches.column(column),
  other_columns: ({actual}) => t.breaches.otherColumns((actual.names as string[]).join(', ')),
  type: ({column, expected, actual}) =>
    t.breaches.type(
      column,
      numberIn(actual.cells),
      t.types[String(expected.type)] ?? String(expected.type),
      count(numberIn(actual.firstRow)),
    ),
  unique: ({column, actual}) => t.breaches.unique(column, numberIn(actual.cells), count(numberIn(actual.firstRow))),
  values: ({column, actual}) => t.breaches.values(column, numberIn(actual.cells), count(numberIn(actual.firstRow))),
  empty: ({column, expected, actual}) =>
    t.breaches.empty(column, exactPercent(numberIn(actual.share)), exactPercent(numberIn(expected.share))),
  rows: ({expected, actual}) => t.breaches.rows(count(numberIn(actual.rows)), limitIn(expected.least), limitIn(expected.most)),
}

export const describeBreach = (breach: Breach): string => sentences[breach.expectation]?.(breach) ?? breach.message
