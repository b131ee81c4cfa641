import {listAmbiguousDates, readDay} from '../../ambiguous-dates.ts'
import {html} from '../html.ts'
import {sayRowReason} from '../text/errors.ts'
import {currentLocale} from '../text/language.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import type {Choice, SourceColumn, SourceProblem} from './import.ts'

type Answer = {choice: Choice; label: string; example: string | null}
type Props = {problem: SourceProblem; column: SourceColumn; isBusy: boolean; decide: (choice: Choice) => void}

export const Question = ({problem, column, isBusy, decide}: Props) => html`
  <li class="question">
    <p><strong>${column.name}</strong>: ${sayRowReason(problem.kind.toUpperCase(), null) ?? problem.message}.</p>
    ${
      asksForFormat(problem)
        ? html`<p>${t.setADateFormat}</p>`
        : html`<div class="answers" role="group" aria-label=${t.howToRead(column.name)}>
      ${answersTo(problem, column).map(
        ({choice, label, example}) => html`
          <${Button} class="answer" isBusy=${isBusy} onClick=${() => decide(choice)}>
            <strong>${label}</strong>${example && html`<br /><span class="quiet">${example}</span>`}
          <//>
        `,
      )}
    </div>`
    }
  </li>
`

/** Whether the problem is dates with years of two digits. A person solves it with a date format of the mapping, not with a choice. */
export const asksForFormat = ({fix}: Pick<SourceProblem, 'fix'>): boolean => fix.includes('dd/MM/yy')

const day = new Intl.DateTimeFormat(currentLocale(), {dateStyle: 'long', timeZone: 'UTC'})

/** Returns the possible answers. The text of `fix` contains the name of the choice that the question asks for. */
const answersTo = ({fix}: SourceProblem, column: SourceColumn): Answer[] => {
  if (fix.includes('dateOrder')) return dateAnswers(column)
  if (fix.includes('decimalMark')) return markAnswers(column)
  if (fix.includes('"numbers"')) return numbersAnswers(column)
  return [
    {choice: {as: 'text'}, label: t.asText, example: t.cellsStayAsDisplayedWithZerosAnd},
    {choice: {as: 'number'}, label: t.asANumber, example: t.zerosSignsAndLongDigitsMayBe},
  ]
}

/** Returns the date orders as answers. Year, month, day is none of them, because dates with the year first are read in every column. */
const dateAnswers = ({samples}: SourceColumn): Answer[] => {
  const [sample] = listAmbiguousDates(samples)
  const example = (order: 'dmy' | 'mdy') => (sample ? t.sampleIs(sample, day.format(new Date(readDay(sample, order)!))) : null)
  return [
    {choice: {dateOrder: 'dmy'}, label: t.dayMonthYearLabel, example: example('dmy')},
    {choice: {dateOrder: 'mdy'}, label: t.monthDayYearLabel, example: example('mdy')},
  ]
}

const markAnswers = ({samples}: SourceColumn): Answer[] => {
  const sample = samples.find(cell => /\d[.,]\d/.test(cell)) ?? null
  const read = (mark: '.' | ',') => {
    if (sample === null) return null
    const number = Number(sample.replaceAll(mark === '.' ? /[^\d.-]/g : /[^\d,-]/g, '').replace(',', '.'))
    return Number.isNaN(number) ? null : t.sampleIs(sample, number.toLocaleString(currentLocale()))
  }
  return [
    {choice: {decimalMark: 'point'}, label: t.decimalPoint, example: read('.')},
    {choice: {decimalMark: 'comma'}, label: t.decimalComma, example: read(',')},
  ]
}

const numbersAnswers = ({formatted}: SourceColumn): Answer[] => [
  {choice: {numbers: 'stored'}, label: t.storedNumbers, example: formatted ? t.asTheFileHoldsIt(formatted.stored) : null},
  {
    choice: {numbers: 'displayed'},
    label: t.displayedNumbers,
    example: formatted ? t.asTheSheetDisplaysIt(formatted.displayed) : null,
  },
]
