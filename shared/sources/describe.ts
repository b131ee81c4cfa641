import type {Source} from '../../sql/sources.ts'
import {Choices, numbersOf} from '../imports/choices.ts'
import {problemsOf} from '../imports/problems.ts'
import {Reader} from '../imports/reader.ts'
import type {Parsing} from '../parsing/pool.ts'
import {evidenceOf, type SourceEvidence} from './evidence.ts'

/** `findings`: the JSON of `describeFindings`, where the source was read just now. */
export type ReadSource = Source & {findings?: string}

/** Evidence that is parsed and described within a few milliseconds; longer evidence is left to a thread. */
export const isShort = ({evidence}: Pick<Source, 'evidence'>): boolean => evidence.length <= 100_000

/** As JSON, with its columns and what was seen in them. Members see their own org's samples as they are. */
export const describeSource = async (parsing: Parsing, org: string, source: ReadSource): Promise<string> => {
  const {id, name, label, bytes, sha256, rows, cleaning, createdAt, reader, evidence} = source
  const choices = Choices.parse(source.choices)
  const head = JSON.stringify({id, name, label, bytes, sha256, rows, cleaning, choices, reader: Reader.parse(reader), createdAt})
  const facts = {reader, choices, evidence}
  const findings = source.findings ?? (isShort(source) ? describeEvidence(facts) : await parsing.run(org, 'describe', facts))
  return `${head.slice(0, -1)},${findings.slice(1)}`
}

export type Facts = Pick<Source, 'reader' | 'choices' | 'evidence'>

export const describeEvidence = ({reader, choices, evidence}: Facts): string =>
  describeFindings({reader, choices: Choices.parse(choices)}, evidenceOf({evidence}))

/** The part of a description that grows with the columns of the file, as JSON. */
export const describeFindings = ({reader, choices}: {reader: unknown; choices: Choices}, seen: SourceEvidence): string =>
  JSON.stringify({
    ...seen,
    columns: seen.columns.map(column => {
      const numbers = numbersOf(column, choices[column.name])
      return {...column, ...(numbers && {numbers})}
    }),
    problems: problemsOf({...seen, reader}, choices),
  })
