import type {CellKind} from '../../files/cell-kind.ts'
import {type ColumnExpectations, kindsOfType, type RowExpectations, type SourceContract} from './contract.ts'
import type {CellCount, ColumnMeasure, FileMeasure} from './measure.ts'

/** `expected` and `actual` contain counts, shares, types and names of columns and picklists, never cell values. */
export type Breach = {
  slot: string
  label: string
  column: string | null
  expectation: 'column' | 'other_columns' | 'type' | 'unique' | 'values' | 'empty' | 'rows'
  expected: Record<string, unknown>
  actual: Record<string, unknown>
  message: string
}

type BreachPlace = {slot: string; label: string}
/** `accepted`: the row counts of the slot's last accepted files, at most ten. */
type FileToJudge = {label: string; measure: FileMeasure; accepted: readonly number[]}

/** Minimum number of accepted files for a comparison of row counts. */
export const fewestAccepted = 3
const mostNames = 20

/** Order: breaches about column names, then about each column in the order of the contract, then about the number of rows. */
export const findBreaches = (contract: SourceContract, {label, measure, accepted}: FileToJudge): Breach[] => {
  const place = {slot: contract.slot, label}
  return [
    ...findMissingColumns(contract, {label, ...measure}),
    ...contract.columns.flatMap(column => {
      const measured = measure.columns.find(({name}) => name === column.name)
      return measured ? judgeColumn(place, column, measured) : []
    }),
    ...judgeRows(place, contract.rows, {rows: measure.rows, accepted}),
  ]
}

/** `names`: all column names after cleaning. `fileColumns`: the names without columns that cleaning added. */
type NamedColumns = {label: string; names: readonly string[]; fileColumns: readonly string[]}

/** Also finds columns that the contract does not name, if it refuses other columns. */
export const findMissingColumns = ({slot, columns, otherColumns}: SourceContract, {label, names, fileColumns}: NamedColumns): Breach[] => {
  const known = new Set(columns.map(({name}) => name))
  const others = otherColumns === 'refuse' ? fileColumns.filter(name => !known.has(name)) : []
  const missing = columns.filter(({present, name}) => present && !names.includes(name))
  return [
    ...missing.map(
      ({name}): Breach => ({
        slot,
        label,
        column: name,
        expectation: 'column',
        expected: {present: true},
        actual: {present: false},
        message: `${label} has no column "${name}"`,
      }),
    ),
    ...(others.length === 0
      ? []
      : [
          {
            slot,
            label,
            column: null,
            expectation: 'other_columns' as const,
            expected: {columns: columns.length},
            actual: {columns: others.length, names: others.slice(0, mostNames)},
            message: `${label} has ${counted(others.length, 'column')} that the contract does not name, such as "${others[0]}"`,
          },
        ]),
  ]
}

const counted = (count: number, noun: string) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

const judgeColumn = ({slot, label}: BreachPlace, column: ColumnExpectations, measured: ColumnMeasure): Breach[] => {
  const at = {slot, label, column: column.name}
  const named = `${label}, column "${column.name}"`
  const {repeated, others} = measured
  const other = column.type === null ? null : countOtherKinds(measured, kindsOfType[column.type])
  return [
    ...(other
      ? [
          {
            ...at,
            expectation: 'type' as const,
            expected: {type: column.type},
            actual: other,
            message: `${named}: ${counted(other.cells, 'cell')} ${other.cells === 1 ? 'is' : 'are'} not of type ${column.type}, first in row ${other.firstRow}`,
          },
        ]
      : []),
    ...(column.unique && repeated && repeated.cells > 0
      ? [
          {
            ...at,
            expectation: 'unique' as const,
            expected: {repeated: 0},
            actual: {...repeated},
            message: `${named}: values of earlier rows repeat in ${counted(repeated.cells, 'cell')}, first in row ${repeated.firstRow}`,
          },
        ]
      : []),
    ...judgeValues(at, column, others, named),
    ...judgeEmpties(at, column, measured, named),
  ]
}

const countOtherKinds = ({kinds}: ColumnMeasure, allowed: readonly CellKind[]) => {
  const others = Object.entries(kinds).filter(([kind]) => !allowed.includes(kind as CellKind))
  if (others.length === 0) return null
  return {
    cells: others.reduce((sum, [, {cells}]) => sum + cells, 0),
    firstRow: Math.min(...others.map(([, {firstRow}]) => firstRow)),
    kinds: Object.fromEntries(others.map(([kind, {cells}]) => [kind, cells])),
  }
}

type ColumnPlace = {slot: string; label: string; column: string}

const judgeValues = (at: ColumnPlace, {values, picklist}: ColumnExpectations, others: CellCount | null, named: string): Breach[] =>
  others && others.cells > 0
    ? [
        {
          ...at,
          expectation: 'values',
          expected: picklist ? {picklist} : {values: values?.length ?? 0},
          actual: {...others},
          message: `${named}: ${counted(others.cells, 'cell')} with a value that is not allowed, first in row ${others.firstRow}`,
        },
      ]
    : []

const judgeEmpties = (at: ColumnPlace, {emptyShare}: ColumnExpectations, {filled, empties}: ColumnMeasure, named: string): Breach[] => {
  const share = empties / Math.max(1, filled + empties)
  return emptyShare !== null && share > emptyShare
    ? [
        {
          ...at,
          expectation: 'empty',
          expected: {share: emptyShare},
          actual: {share: Math.ceil(share * 10_000) / 10_000, cells: empties},
          message: `${named}: ${percent(share)} of the cells are empty, and at most ${percent(emptyShare)} may be`,
        },
      ]
    : []
}

/** Rounds up to two decimals, so that a share above its limit does not read as the limit. */
const percent = (share: number) => `${Math.ceil(Number((share * 10_000).toFixed(6))) / 100} %`

const judgeRows = (
  {slot, label}: BreachPlace,
  expectations: RowExpectations,
  {rows, accepted}: {rows: number; accepted: readonly number[]},
): Breach[] => {
  const {least, most, median} = rowLimits(expectations, accepted)
  if ((least === null || rows >= least) && (most === null || rows <= most)) return []
  const compared = median === null ? '' : `. The median of the last ${accepted.length} accepted files is ${median.toLocaleString('en')}`
  const range =
    least === null
      ? `at most ${most!.toLocaleString('en')}`
      : most === null
        ? `at least ${least.toLocaleString('en')}`
        : `${least.toLocaleString('en')} to ${most.toLocaleString('en')}`
  return [
    {
      slot,
      label,
      column: null,
      expectation: 'rows',
      expected: {least, most, median},
      actual: {rows},
      message: `${label} has ${counted(rows, 'row')}, and ${range} are expected${compared}`,
    },
  ]
}

/** With `fewestAccepted` accepted files or more, the allowed deviation from their median narrows the limits of the contract. */
const rowLimits = ({least, most, change}: RowExpectations, accepted: readonly number[]) => {
  if (change === null || accepted.length < fewestAccepted) return {least, most, median: null}
  const median = medianOf(accepted)
  // Floating-point products may differ slightly from a whole number.
  const [low, high] = [Math.ceil(median * (1 - change) - 1e-9), Math.floor(median * (1 + change) + 1e-9)]
  return {
    least: low > 0 ? Math.max(low, least ?? 0) : least,
    most: Math.min(high, most ?? Number.POSITIVE_INFINITY),
    median,
  }
}

export const medianOf = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
