import type {Source} from '../../../sql/sources.ts'
import {Choices, numbersOf} from '../choices.ts'
import type {Parsing} from '../parser/pool.ts'
import {problemsOf} from '../problems.ts'
import {Reader} from '../reader.ts'
import {evidenceOf, type SourceEvidence} from './evidence.ts'

/** `findings`: the JSON of `describeFindings`, if the source was just added or changed. */
export type ReadSource = Source & {findings?: string}

/** Longer evidence is described in a parser thread, because that takes more than a few milliseconds. */
export const isShort = ({evidence}: Pick<Source, 'evidence'>): boolean => evidence.length <= 100_000

/** Returns the source as JSON. Samples are not masked, because members may see the data of their org. */
export const describeSource = async (parsing: Parsing, org: string, source: ReadSource): Promise<string> => {
  const {id, name, label, bytes, sha256, rows, cleaning, createdAt, reader, evidence} = source
  const choices = Choices.parse(source.choices)
  const head = JSON.stringify({id, name, label, bytes, sha256, rows, cleaning, choices, reader: Reader.parse(reader), createdAt})
  const facts = {reader, choices, evidence}
  const findings = source.findings ?? (isShort(source) ? describeEvidence(facts) : await parsing.run(org, 'describe', facts))
  return `${head.slice(0, -1)},${findings.slice(1)}`
}

export type FileFacts = Pick<Source, 'reader' | 'choices' | 'evidence'>

export const describeEvidence = ({reader, choices, evidence}: FileFacts): string =>
  describeFindings({reader, choices: Choices.parse(choices)}, evidenceOf({evidence}))

/** Returns the part of the description that grows with the number of columns, as JSON. */
export const describeFindings = ({reader, choices}: {reader: unknown; choices: Choices}, seen: SourceEvidence): string =>
  JSON.stringify({
    ...seen,
    columns: seen.columns.map(column => {
      const numbers = numbersOf(column, choices[column.name])
      return {...column, ...(numbers && {numbers})}
    }),
    problems: problemsOf({...seen, reader}, choices),
  })
