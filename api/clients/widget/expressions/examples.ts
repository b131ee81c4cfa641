import {t} from '../text/shell.ts'
import {cellOf} from './complete.ts'

type Example = {label: string; expression: string}

/** If the field has a source column, the examples read it as `value`. */
export const examplesFor = (columns: readonly string[], source: string | null): Example[] => {
  const [first = t.firstColumn, second = first] = columns.map(cellOf)
  const cell = source === null ? first : 'value'
  const other = columns.length > 1 && cell === first ? second : first
  return [
    {label: t.twoColumnsAsOneText, expression: `helpers.join([${cell}, ${other}], ' ')`},
    {label: t.theFirstValueThatIsNotEmpty, expression: `helpers.coalesce(${cell}, ${other}, 'Unknown')`},
    {label: t.aPartOfTheText, expression: `helpers.split(${cell}, ' ', 0)`},
    {label: t.everyWordCapitalised, expression: `helpers.title(${cell})`},
    {label: t.aDateSuchAs31122026, expression: `helpers.date(${cell}, 'DD.MM.YYYY')`},
    {label: t.aNumberWithADecimalComma, expression: `helpers.number(${cell}, ',')`},
    {label: t.otherWordsForSomeValues, expression: `helpers.lookup(${cell}, {'Y': 'Yes', 'N': 'No'}, ${cell})`},
    {label: t.aValueThatDependsOnAnother, expression: `${other} ? ${cell} : null`},
  ]
}
