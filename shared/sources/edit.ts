import {isDeepStrictEqual} from 'node:util'
import type {Source} from '../../sql/sources.ts'
import {findSource, updateSource} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import {type ChoiceChanges, Choices, numbersChosen} from '../imports/choices.ts'
import type {Cleaning} from '../imports/cleaning.ts'
import {Reader, type ReaderOptions} from '../imports/reader.ts'
import type {SourceTools} from './add.ts'
import type {SourceEvidence} from './describe.ts'
import {assertOpen, findImportSource, lockOpenImport, type OfSource} from './find.ts'
import {readSource} from './read.ts'
import {answerEncoding, changeReader} from './reader-changes.ts'

type SourceChanges = {
  label?: string | undefined
  reader?: ReaderOptions | undefined
  /** Of a template: it answers the question which encoding the file has, and changes no other file's. */
  keptEncoding?: string | undefined
  cleaning?: Cleaning | undefined
  choices?: ChoiceChanges | undefined
}

/** Somebody else changing the source while its file is read; then it is read once more. */
const mostReadings = 3

/**
 * Changes what is named. Under another reader or cleaning the file is read anew, to its end, and its evidence replaced; a reading that fails
 * changes nothing. Runs keep what their snapshots froze.
 */
export const editSource = async (tools: SourceTools, place: OfSource, changes: SourceChanges): Promise<Source> => {
  for (let reading = 0; reading < mostReadings; reading++) {
    const {source} = await findImportSource(tools.db, place)
    await assertOpen(tools.db, place)
    const edited = await edit(tools, source, changes)
    const kept = await tools.db.transaction(async tx => {
      const {no} = await lockOpenImport(tx, place)
      const now = await findSource(tx, {importNo: no, id: source.id})
      if (!now) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
      return now.version === source.version ? updateSource(tx, {importNo: no, id: source.id, ...edited}) : null
    })
    if (kept) return kept
  }
  throw new Refusal('BUSY', 'The source is being changed by somebody else: read it again, then change it', {retryAfterMs: 1_000})
}

const edit = async (tools: SourceTools, source: Source, {label = source.label, reader, keptEncoding, cleaning, choices}: SourceChanges) => {
  const current = Reader.parse(source.reader)
  const {reader: wanted, encoding} = changeReader(source, {...reader}, keptEncoding)
  const asked = {reader: wanted, cleaning: cleaning ?? source.cleaning}
  assertSameFormat(current, reader)
  const before = Choices.parse(source.choices)
  const chosen = {...before, ...choices}
  const isSame =
    isDeepStrictEqual(asked.reader, current) &&
    isDeepStrictEqual(asked.cleaning, source.cleaning) &&
    readNumbersAlike(current, before, chosen)
  const read = isSame
    ? {reader: current, rows: source.rows, evidence: source.evidence as SourceEvidence}
    : await readSource(tools, {...source, ...asked, choices: withoutNull(chosen)})
  const evidence = encoding ? answerEncoding(read.evidence, encoding) : read.evidence
  return {label, ...read, evidence, cleaning: asked.cleaning, choices: choose(before, choices ?? {}, evidence)}
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
