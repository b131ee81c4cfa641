import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {TextField} from '../ui/field.ts'
import {count, percent, plural} from '../ui/format.ts'
import {type Column, Table} from '../ui/table.ts'
import type {Choice, NumberMode, Source, SourceColumn} from './import.ts'
import {kindsOf, nameOfKind} from './reading.ts'

const pageColumns = 50
type Props = {source: Source; decide: (column: string, choice: Choice | null) => void}

/** Shows the statistics of each column, page by page. */
export const ColumnTable = ({source, decide}: Props) => {
  const [part, setPart] = useState('')
  const [most, setMost] = useState(pageColumns)
  const fitting = source.columns.filter(({name}) => name.toLowerCase().includes(part.toLowerCase()))
  return html`
    ${source.columns.length > 20 && html`<${TextField} label="Find a column" value=${part} onInput=${setPart} />`}
    <${Table} caption=${`Columns of ${source.label}`} columns=${columnsFor(source, decide)} rows=${fitting.slice(0, most)} keyOf=${({name}: SourceColumn) => name} empty="No matching columns." />
    ${fitting.length > most && html`<p><${Button} onClick=${() => setMost(most + pageColumns)}>Show ${Math.min(pageColumns, fitting.length - most)} more<//></p>`}
  `
}

const columnsFor = (source: Source, decide: Props['decide']): Column<SourceColumn>[] => [
  {head: 'Column', isName: true, cell: column => html`<${Name} column=${column} source=${source} decide=${decide} />`},
  {head: 'Looks like', cell: column => sayKinds(column)},
  {
    head: 'Empty',
    isNumber: true,
    cell: ({empties}) =>
      empties === 0 ? '–' : html`<span class="unbroken">${count(empties)} (${percent(empties / Math.max(1, source.rows))})</span>`,
  },
  {
    head: 'Distinct',
    isNumber: true,
    cell: ({distinct}) => (distinct.more ? `about ${count(distinct.about ?? distinct.count)}` : count(distinct.count)),
  },
  {head: 'Longest', isNumber: true, cell: ({longest}) => count(longest)},
  {
    head: 'Samples',
    cell: ({samples}) =>
      html`<span class="samples">${samples.slice(0, 3).map(sample => html`<span class="sample">${sample.length > 40 ? `${sample.slice(0, 40)} …` : sample}</span>`)}</span>`,
  },
]

const sayKinds = (column: SourceColumn) => {
  const [first, ...others] = kindsOf(column)
  if (!first) return html`<span class="quiet">empty</span>`
  return html`
    ${nameOfKind(first.kind)}
    ${
      others.length > 0 &&
      html`<br /><span class="quiet">${others
        .slice(0, 3)
        .map(({kind, count: n}) => `${count(n)} ${nameOfKind(kind, n)}`)
        .join(', ')}</span>`
    }
    ${sayEvidence(column).map(text => html`<br /><span class="quiet">${text}</span>`)}
  `
}

const orderNames = {dmy: 'day, month, year', mdy: 'month, day, year', ymd: 'year, month, day'}

/** Describes the evidence in the values of a column for how to read them. */
const sayEvidence = ({dates, leadingZeros, beyond53}: SourceColumn): string[] => [
  ...(['dmy', 'mdy', 'ymd'] as const).flatMap(order =>
    dates[order] > 0 ? [`${plural(dates[order], 'date is', 'dates are')} clearly ${orderNames[order]}`] : [],
  ),
  ...(leadingZeros ? [`${count(leadingZeros.count)} with leading zeros, first in row ${leadingZeros.firstRow}`] : []),
  ...(beyond53 ? [`${count(beyond53.count)} with too many digits for a number, first in row ${beyond53.firstRow}`] : []),
]

/** Shows the column's name, its findings, and the choices made, each with a button to undo it. */
const Name = ({column, source, decide}: {column: SourceColumn; source: Source; decide: Props['decide']}) => {
  const choice = source.choices[column.name]
  const told = source.problems.filter(one => one.column === column.name && one.kind !== 'ambiguous')
  return html`
    <span class="column-name">
      ${column.name}
      ${choice && html`<span class="decided">${sayChoice(choice)} ${may('operator') && html`<${Button} kind="quiet" onClick=${() => decide(column.name, null)} label=${`Change: ${column.name}`}>Change<//>`}</span>`}
      ${column.numbers && html`<${FormattedNumbers} column=${column} numbers=${column.numbers} decide=${decide} />`}
      ${told.map(({message, fix}) => html`<span class="decided wrong">${message}. ${fix}.</span>`)}
    </span>
  `
}

type NumbersProps = {column: SourceColumn; numbers: NumberMode; decide: Props['decide']}

/** Shows whether the displayed or the stored numbers are read, with a button to switch. */
const FormattedNumbers = ({column: {name, formatted}, numbers, decide}: NumbersProps) => {
  const other = numbers === 'displayed' ? 'stored' : 'displayed'
  const example = formatted && ` (${formatted[numbers]}, ${other}: ${formatted[other]})`
  return html`
    <span class="decided">
      Numbers as ${numbers}${example}
      ${may('operator') && html` <${Button} kind="quiet" onClick=${() => decide(name, {numbers: other})} label=${`Use ${other} numbers: ${name}`}>Use ${other} numbers<//>`}
    </span>
  `
}

const sayChoice = ({dateOrder, decimalMark, as, numbers}: Choice) =>
  [dateOrder && `${orderNames[dateOrder]}`, decimalMark && `decimal ${decimalMark}`, as && `as ${as}`, numbers && `numbers as ${numbers}`]
    .filter(Boolean)
    .join('; ')
