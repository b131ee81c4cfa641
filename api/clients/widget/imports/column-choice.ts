import {html} from '../html.ts'
import {may} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import type {Choice, NumberMode, SourceColumn} from './import.ts'

type Decide = (column: string, choice: Choice | null) => void
type Props = {column: SourceColumn; choice: Choice | undefined; decide: Decide}

/** Shows the choice how to read a column, with a button that removes the choice so that the question is asked again. */
export const ChosenReading = ({column, choice, decide}: Props) => html`
  ${choice && html`<span class="decided">${sayChoice(choice)} ${may('operator') && html`<${Button} kind="quiet" onClick=${() => decide(column.name, null)} label=${t.changeNamed(column.name)}>${t.change}<//>`}</span>`}
  ${column.numbers && html`<${FormattedNumbers} column=${column} numbers=${column.numbers} decide=${decide} />`}
`

type NumbersProps = {column: SourceColumn; numbers: NumberMode; decide: Decide}

const FormattedNumbers = ({column: {name, formatted}, numbers, decide}: NumbersProps) => {
  const other = numbers === 'displayed' ? 'stored' : 'displayed'
  const example = formatted ? ` (${formatted[numbers]}, ${t.numberModes[other]}: ${formatted[other]})` : ''
  return html`
    <span class="decided">
      ${t.numbersAs(t.numberModes[numbers], example)}
      ${may('operator') && html` <${Button} kind="quiet" onClick=${() => decide(name, {numbers: other})} label=${t.useNumbersNamed(t.numberModes[other], name)}>${t.useNumbers(t.numberModes[other])}<//>`}
    </span>
  `
}

const orderNames = {dmy: t.dayMonthYear, mdy: t.monthDayYear, ymd: t.yearMonthDay}

const sayChoice = ({dateOrder, decimalMark, as, numbers}: Choice) =>
  [
    dateOrder && orderNames[dateOrder],
    decimalMark && t.decimalMarks[decimalMark],
    as && t.readAs[as],
    numbers && t.numbersAs(t.numberModes[numbers], ''),
  ]
    .filter(Boolean)
    .join('; ')
