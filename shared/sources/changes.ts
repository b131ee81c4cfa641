import {isDeepStrictEqual} from 'node:util'
import type {Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import {type ChoiceChanges, Choices, numbersChosen} from '../imports/choices.ts'
import type {Cleaning} from '../imports/cleaning.ts'
import {Reader, type ReaderOptions} from '../imports/reader.ts'
import type {FilePlace} from '../imports/stored-file.ts'
import {describeFindings} from './describe.ts'
import {evidenceOf, type SourceEvidence} from './evidence.ts'
import {type FileRead, readSource} from './read.ts'
import {answerEncoding, changeReader} from './reader-changes.ts'

export type SourceChanges = {
  label?: string | undefined
  reader?: ReaderOptions | undefined
  /** Of a template: it answers the question which encoding the file has, and changes no other file's. */
  keptEncoding?: string | undefined
  cleaning?: Cleaning | undefined
  choices?: ChoiceChanges | undefined
  /** Leaves out choices for columns that the file does not have, instead of refusing them. */
  fittingChoices?: boolean | undefined
}

export type ChangedSource = FileRead & Pick<Source, 'label' | 'cleaning' | 'choices'>

type Changing = {source: Source; changes: SourceChanges}

/** A source as the changes leave it. Under another reader or cleaning its file is read to its end. */
export const applyChanges = async (place: FilePlace, changing: Changing): Promise<ChangedSource> => {
  const planned = plan(changing)
  return planned.apply(planned.reading ? await readSource(place, planned.reading) : planned.unchanged)
}

/** The same where the file need not be read; null where it must be. */
export const applyUnread = (changing: Changing): ChangedSource | null => {
  const planned = plan(changing)
  return planned.reading ? null : planned.apply(planned.unchanged)
}

const plan = ({source, changes}: Changing) => {
  const {label = source.label, reader, keptEncoding, cleaning = source.cleaning} = changes
  const known = evidenceOf(source)
  const choices = (changes.fittingChoices ? fittingOf(changes, known) : changes.choices) ?? {}
  const current = Reader.parse(source.reader)
  const {reader: wanted, encoding} = changeReader({reader: source.reader, evidence: known}, {...reader}, keptEncoding)
  assertSameFormat(current, reader)
  const before = Choices.parse(source.choices)
  const chosen = {...before, ...choices}
  const isSame =
    isDeepStrictEqual(wanted, current) && isDeepStrictEqual(cleaning, source.cleaning) && readNumbersAlike(current, before, chosen)
  const apply = (read: Awaited<ReturnType<typeof readSource>>): ChangedSource => {
    const evidence = encoding ? answerEncoding(read.evidence, encoding) : read.evidence
    const made = {label, cleaning, reader: read.reader, rows: read.rows, choices: choose(before, choices, evidence)}
    return {...made, evidence: JSON.stringify(evidence), findings: describeFindings(made, evidence)}
  }
  return {
    reading: isSame ? null : {fileKey: source.fileKey, cleaning, reader: wanted, choices: withoutNull(chosen), evidence: known},
    unchanged: {reader: current, rows: source.rows, evidence: known},
    apply,
  }
}

/** A choice for a column that is not there decides nothing. */
const fittingOf = ({choices = {}, cleaning = []}: SourceChanges, {columns, fileColumns}: SourceEvidence): ChoiceChanges => {
  const own = fileColumns ?? columns.map(({name}) => name)
  const names = new Set([...own, ...cleaning.flatMap(step => (step.step === 'split' ? step.into : []))])
  return Object.fromEntries(Object.entries(choices).filter(([name]) => names.has(name)))
}

const assertSameFormat = (current: Reader, options: ReaderOptions = {}) => {
  if (options.format !== undefined && options.format !== current.format)
    throw new Refusal('INVALID', `The file is of format ${current.format} and cannot be read as another: upload another file`)
}

const withoutNull = (choices: ChoiceChanges): Choices =>
  Object.fromEntries(Object.entries(choices).flatMap(([name, choice]) => (choice ? [[name, choice]] : [])))

/** Other choices for the numbers of a workbook make other cells of them. */
const readNumbersAlike = ({format}: Reader, before: Choices, wanted: ChoiceChanges) => {
  const [one, other] = [numbersChosen(before), numbersChosen(withoutNull(wanted))]
  return format === 'csv' || Object.keys(wanted).every(name => isDeepStrictEqual(one(name), other(name)))
}

/** A choice for a column that is no longer there goes with it. */
const choose = (current: Choices, changes: ChoiceChanges, {columns}: SourceEvidence): Choices => {
  const names = new Set(columns.map(({name}) => name))
  const unknown = Object.keys(changes).filter(name => !names.has(name))
  if (unknown.length)
    throw new Refusal('INVALID', `The file has no column "${unknown[0]}": name those of the source`, {
      issues: unknown.map(name => ({path: ['choices', name], message: 'No such column'})),
    })
  const chosen = Object.entries({...current, ...changes}).filter(([name, choice]) => choice !== null && names.has(name))
  return Choices.parse(Object.fromEntries(chosen))
}
