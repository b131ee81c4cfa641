import {cellOf} from './complete.ts'

type Example = {label: string; expression: string}

/** Returns example expressions over the columns of the file. With a source column, they read its cell. */
export const examplesFor = (columns: readonly string[], source: string | null): Example[] => {
  const [first = 'First column', second = first] = columns.map(cellOf)
  const cell = source === null ? first : 'value'
  const other = columns.length > 1 && cell === first ? second : first
  return [
    {label: 'Two columns as one text', expression: `helpers.join([${cell}, ${other}], ' ')`},
    {label: 'The first value that is not empty', expression: `helpers.coalesce(${cell}, ${other}, 'Unknown')`},
    {label: 'A part of the text', expression: `helpers.split(${cell}, ' ', 0)`},
    {label: 'Every word capitalised', expression: `helpers.title(${cell})`},
    {label: 'A date such as 31.12.2026', expression: `helpers.date(${cell}, 'DD.MM.YYYY')`},
    {label: 'A number with a decimal comma', expression: `helpers.number(${cell}, ',')`},
    {label: 'Other words for some values', expression: `helpers.lookup(${cell}, {'Y': 'Yes', 'N': 'No'}, ${cell})`},
    {label: 'A value that depends on another', expression: `${other} ? ${cell} : null`},
  ]
}
