import type {Source} from '../../sql/sources.ts'
import {Choices, numbersOf} from '../imports/choices.ts'
import type {Examined} from '../imports/examine.ts'
import type {Sniffed} from '../imports/intake.ts'
import {problemsOf} from '../imports/problems.ts'
import {Reader} from '../imports/reader.ts'

/** What was found in the file when it was last read. The oldest rows lack what is optional here. */
export type SourceEvidence = Omit<Examined, 'rows' | 'fileColumns' | 'struck'> &
  Partial<Pick<Examined, 'fileColumns' | 'struck'>> & {sniffed?: Sniffed}

/** With its columns and what was seen in them. Members see their own org's samples as they are. */
export const describeSource = ({id, name, label, bytes, sha256, rows, reader, cleaning, choices: chosen, evidence, createdAt}: Source) => {
  const choices = Choices.parse(chosen)
  const seen = evidence as SourceEvidence
  return {
    ...{id, name, label, bytes, sha256, rows, cleaning, choices},
    reader: Reader.parse(reader),
    ...seen,
    columns: seen.columns.map(column => {
      const numbers = numbersOf(column, choices[column.name])
      return {...column, ...(numbers && {numbers})}
    }),
    problems: problemsOf({...seen, reader}, choices),
    createdAt,
  }
}
