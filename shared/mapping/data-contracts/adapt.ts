import type {Breach} from './breach.ts'
import {type ColumnExpectations, type DataContract, mostChange, type RowExpectations, type SourceContract} from './contract.ts'

/**
 * Loosens the contract so that it accepts a file with these breaches. Allowed values stay, because cell values are not stored: an editor must state
 * new ones. `left`: the breaches of allowed values.
 */
export const adaptContract = ({sources}: DataContract, breaches: readonly Breach[]): {contract: DataContract; left: Breach[]} => ({
  contract: {sources: sources.map(source => breaches.filter(({slot}) => slot === source.slot).reduce(adaptSource, source))},
  left: breaches.filter(({expectation}) => expectation === 'values'),
})

const adaptSource = (source: SourceContract, breach: Breach): SourceContract => {
  if (breach.expectation === 'rows') return {...source, rows: adaptRows(source.rows, breach)}
  if (breach.expectation === 'other_columns') return {...source, otherColumns: 'allow'}
  return {...source, columns: source.columns.map(column => (column.name === breach.column ? adaptColumn(column, breach) : column))}
}

const adaptColumn = (column: ColumnExpectations, {expectation, actual}: Breach): ColumnExpectations => {
  if (expectation === 'column') return {...column, present: false}
  if (expectation === 'type') return {...column, type: null}
  if (expectation === 'unique') return {...column, unique: false}
  return expectation === 'empty' ? {...column, emptyShare: Math.min(1, Math.ceil(Number(actual.share) * 100) / 100)} : column
}

const adaptRows = ({least, most, change}: RowExpectations, {expected, actual}: Breach): RowExpectations => {
  const rows = Number(actual.rows)
  const median = expected.median === null ? rows : Number(expected.median)
  const deviation = rows === median ? 0 : Math.ceil((Math.abs(rows - median) / median) * 100) / 100
  return {
    least: least === null ? null : Math.min(least, rows),
    most: most === null ? null : Math.max(most, rows),
    change: change === null || deviation > mostChange ? null : Math.max(change, deviation),
  }
}
