import {isDeepStrictEqual} from 'node:util'
import type {Source} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {findOrigin} from '../../runs/results/reason-columns.ts'
import {type ChoiceChanges, Choices, numbersChosen} from '../choices.ts'
import {Cleaning, namesRows} from '../cleaning/cleaning.ts'
import {assertRows, type CellChange, editCells, keepEdits, withoutEdits} from '../cleaning/edit-cells.ts'
import {isCompatibleReader, Reader, type ReaderOptions} from '../reader.ts'
import type {FileDeps} from '../stored-file.ts'
import {describeFindings} from './describe.ts'
import {evidenceOf, isConverted, type SourceEvidence} from './evidence.ts'
import {type FileRead, readSource} from './read.ts'
import {answerEncoding, changeReader, isRenumbered} from './reader-changes.ts'

export type SourceChanges = {
  label?: string | undefined
  reader?: ReaderOptions | undefined
  /** The encoding that a template keeps. Used only if the bytes do not show the file's encoding and no user has chosen one. */
  keptEncoding?: string | undefined
  /** Edits of cells stay, unless these steps include `editCells`. `strikeRows` names rows of the changed reader. */
  cleaning?: Cleaning | undefined
  /** A null value removes the edit of the cell. */
  cells?: CellChange[] | undefined
  choices?: ChoiceChanges | undefined
  /** True for the changes of a template slot: ignores choices for columns that the file lacks, and the options of a file that Lading converted. */
  fromSlot?: boolean | undefined
}

export type ChangedSource = FileRead & Pick<Source, 'label' | 'cleaning' | 'choices'>

type ApplyChangesInput = {source: Source; changes: SourceChanges}

/** Returns the changed source; nothing is stored. If the reader, the cleaning or the reading of numbers changes, the file is read to its end. */
export const applyChanges = async (deps: FileDeps, changing: ApplyChangesInput): Promise<ChangedSource> => {
  const planned = plan(changing)
  return planned.apply(planned.reading ? await readSource(deps, planned.reading) : planned.unchanged)
}

/** Returns the changed source without reading the file. Null if the file must be read. */
export const applyUnread = (changing: ApplyChangesInput): ChangedSource | null => {
  const planned = plan(changing)
  return planned.reading ? null : planned.apply(planned.unchanged)
}

const plan = ({source, changes}: ApplyChangesInput) => {
  const {label = source.label, keptEncoding, fromSlot, cells = []} = changes
  const known = evidenceOf(source)
  const reader = fromSlot && isConverted(known) ? {} : changes.reader
  const choices = (fromSlot ? fittingOf(changes, known) : changes.choices) ?? {}
  const current = Reader.parse(source.reader)
  const {reader: choiceChanges, encoding} = changeReader({reader: source.reader, evidence: known}, {...reader}, keptEncoding)
  assertSameFormat(current, reader)
  const isReread = !isDeepStrictEqual(choiceChanges, current)
  const cleaned = Cleaning.parse(source.cleaning)
  const stored = isRenumbered(current, choiceChanges) ? cleaned.filter(step => !namesRows(step)) : cleaned
  const given = changes.cleaning ? keepEdits(changes.cleaning, stored) : stored
  const cleaning = editCells(isCompatibleReader(current, choiceChanges) ? given : withoutEdits(given), cells)
  const before = Choices.parse(source.choices)
  const chosen = {...before, ...choices}
  const isSame = !isReread && isDeepStrictEqual(cleaning, source.cleaning) && readNumbersAlike(current, before, chosen)
  const apply = (read: Awaited<ReturnType<typeof readSource>>): ChangedSource => {
    assertRows(cells, read.rows)
    const evidence = encoding ? answerEncoding(read.evidence, encoding) : read.evidence
    const made = {label, cleaning, reader: read.reader, rows: read.rows, choices: choose(before, choices, evidence)}
    const isOtherSheet = 'sheet' in read.reader && 'sheet' in current && read.reader.sheet !== current.sheet
    const corrects = isOtherSheet ? findOrigin(evidence.fileColumns?.[0]) : undefined
    return {...made, evidence: JSON.stringify(evidence), findings: describeFindings(made, evidence), corrects}
  }
  return {
    reading: isSame ? null : {fileKey: source.fileKey, cleaning, reader: choiceChanges, choices: withoutNull(chosen), evidence: known},
    unchanged: {reader: current, rows: source.rows, evidence: known},
    apply,
  }
}

/** Drops choices for columns that are neither in the file nor made by a split of the changed cleaning. */
const fittingOf = ({choices = {}, cleaning = []}: SourceChanges, {columns, fileColumns}: SourceEvidence): ChoiceChanges => {
  const own = fileColumns ?? columns.map(({name}) => name)
  const names = new Set([...own, ...cleaning.flatMap(step => (step.step === 'split' ? step.into : []))])
  return Object.fromEntries(Object.entries(choices).filter(([name]) => names.has(name)))
}

const assertSameFormat = (current: Reader, options: ReaderOptions = {}) => {
  if (options.format !== undefined && options.format !== current.format)
    throw new Refusal('INVALID', `The file has the format ${current.format} and cannot be read as another. Upload another file`)
}

const withoutNull = (choices: ChoiceChanges): Choices =>
  Object.fromEntries(Object.entries(choices).flatMap(([name, choice]) => (choice ? [[name, choice]] : [])))

/** Whether the changed choices read the numbers of a workbook as before. If not, cells change, so the file must be read again. */
const readNumbersAlike = ({format}: Reader, before: Choices, choiceChanges: ChoiceChanges) => {
  const [one, other] = [numbersChosen(before), numbersChosen(withoutNull(choiceChanges))]
  return format === 'csv' || Object.keys(choiceChanges).every(name => isDeepStrictEqual(one(name), other(name)))
}

const choose = (current: Choices, changes: ChoiceChanges, {columns}: SourceEvidence): Choices => {
  const names = new Set(columns.map(({name}) => name))
  const unknown = Object.keys(changes).filter(name => !names.has(name))
  if (unknown.length)
    throw new Refusal('INVALID', `The file has no column "${unknown[0]}". Use the column names of the source`, {
      issues: unknown.map(name => ({path: ['choices', name], message: 'No such column'})),
    })
  const chosen = Object.entries({...current, ...changes}).filter(([name, choice]) => choice !== null && names.has(name))
  return Choices.parse(Object.fromEntries(chosen))
}
