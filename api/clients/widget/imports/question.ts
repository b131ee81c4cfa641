import {html} from '../html.ts'
import {Button} from '../ui/button.ts'
import type {Choice, SourceColumn, SourceProblem} from './import.ts'
import {readDay} from './reading.ts'

type Answer = {choice: Choice; label: string; example: string | null}
type Props = {problem: SourceProblem; column: SourceColumn; isBusy: boolean; decide: (choice: Choice) => void}

/** A question about ambiguous values, with answers and an example of each. */
export const Question = ({problem, column, isBusy, decide}: Props) => html`
  <li class="question">
    <p><strong>${column.name}</strong>: ${problem.message}.</p>
    <div class="answers" role="group" aria-label=${`How to read ${column.name}`}>
      ${answersTo(problem, column).map(
        ({choice, label, example}) => html`
          <${Button} class="answer" isBusy=${isBusy} onClick=${() => decide(choice)}>
            <strong>${label}</strong>${example && html`<br /><span class="quiet">${example}</span>`}
          <//>
        `,
      )}
    </div>
  </li>
`

const day = new Intl.DateTimeFormat(navigator.language, {dateStyle: 'long', timeZone: 'UTC'})

/** Returns the possible answers. The text of the fix names the choice that the question is about. */
const answersTo = ({fix}: SourceProblem, column: SourceColumn): Answer[] => {
  if (fix.includes('dateOrder')) return dateAnswers(column)
  if (fix.includes('decimalMark')) return markAnswers(column)
  if (fix.includes('"numbers"')) return numbersAnswers(column)
  return [
    {choice: {as: 'text'}, label: 'As text', example: 'Cells stay as displayed, with zeros and long digits'},
    {choice: {as: 'number'}, label: 'As a number', example: 'Zeros, signs and long digits may be lost'},
  ]
}

/** Returns the date orders as answers. The example is a sample cell that the orders read differently, if there is one. */
const dateAnswers = ({samples}: SourceColumn): Answer[] => {
  const orders = ['dmy', 'mdy', 'ymd'] as const
  const tells = (cell: string) => new Set(orders.map(order => readDay(cell, order)).filter(Boolean)).size
  const [sample = null] = samples.filter(cell => tells(cell) > 0).toSorted((a, b) => tells(b) - tells(a))
  const example = (order: (typeof orders)[number]) => {
    const read = sample && readDay(sample, order)
    return read ? `${sample} is ${day.format(new Date(read))}` : sample && `${sample} is not a date`
  }
  return [
    {choice: {dateOrder: 'dmy'}, label: 'Day, month, year', example: example('dmy')},
    {choice: {dateOrder: 'mdy'}, label: 'Month, day, year', example: example('mdy')},
    {choice: {dateOrder: 'ymd'}, label: 'Year, month, day', example: example('ymd')},
  ]
}

const markAnswers = ({samples}: SourceColumn): Answer[] => {
  const sample = samples.find(cell => /\d[.,]\d/.test(cell)) ?? null
  const read = (mark: '.' | ',') => {
    if (sample === null) return null
    const number = Number(sample.replaceAll(mark === '.' ? /[^\d.-]/g : /[^\d,-]/g, '').replace(',', '.'))
    return Number.isNaN(number) ? null : `${sample} is ${number.toLocaleString(navigator.language)}`
  }
  return [
    {choice: {decimalMark: 'point'}, label: 'Decimal point', example: read('.')},
    {choice: {decimalMark: 'comma'}, label: 'Decimal comma', example: read(',')},
  ]
}

const numbersAnswers = ({formatted}: SourceColumn): Answer[] => [
  {choice: {numbers: 'stored'}, label: 'Stored numbers', example: formatted ? `${formatted.stored}, as the file holds it` : null},
  {
    choice: {numbers: 'displayed'},
    label: 'Displayed numbers',
    example: formatted ? `${formatted.displayed}, as the sheet displays it` : null,
  },
]
