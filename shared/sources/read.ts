import type {Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import {openBadBytes} from '../imports/bad-bytes.ts'
import {type Choices, numbersChosen} from '../imports/choices.ts'
import {examine} from '../imports/examine.ts'
import {type NewFile, readNewFile, type Sniffed} from '../imports/new-file.ts'
import type {Reader} from '../imports/reader.ts'
import {checked} from '../imports/sniff.ts'
import {type FilePlace, limitsOf, openFile} from '../imports/stored-file.ts'
import {StorageMissing} from '../storage-missing.ts'
import {describeFindings} from './describe.ts'
import type {SourceEvidence} from './evidence.ts'

type Reading = Pick<Source, 'fileKey' | 'cleaning'> & {reader: object; choices: Choices; evidence: SourceEvidence}
/** `isGuarded`: cells of the workbook have the apostrophes of failed.csv. */
type Found = {reader: Reader; rows: number; evidence: SourceEvidence; isGuarded?: boolean | undefined}

/** A file that was read, as its row keeps it. `findings`: see `describeFindings`. Both are JSON. */
export type FileRead = {reader: Reader; rows: number; evidence: string; findings: string}

export const readNewSource = async ({storage, config}: FilePlace, file: NewFile): Promise<FileRead> => {
  const {reader, rows, ...evidence} = await readNewFile({storage, limits: limitsOf(config)}, file)
  return {reader, rows, evidence: JSON.stringify(evidence), findings: describeFindings({reader, choices: {}}, evidence)}
}

/** Another sheet of a workbook. `evidence`: of the sheet that was read before. */
export const readSheet = async (
  place: FilePlace,
  {fileKey, sheet, evidence: known}: {fileKey: string; sheet: string; evidence: string},
): Promise<FileRead> => {
  const asked = {fileKey, cleaning: [], choices: {}, reader: {format: 'xlsx', sheet}, evidence: JSON.parse(known)}
  const found = await readSource(place, asked)
  const {reader, rows, evidence} = found.isGuarded
    ? await readSource(place, {...asked, reader: {...asked.reader, apostrophes: 'remove'}})
    : found
  return {reader, rows, evidence: JSON.stringify(evidence), findings: describeFindings({reader, choices: {}}, evidence)}
}

/** Reads the stored file to its end, as asked. What was sniffed when it came is kept; a reading that fails changes nothing. */
export const readSource = async (
  place: FilePlace,
  {fileKey, cleaning, reader: asked, choices, evidence: {sniffed, text}}: Reading,
): Promise<Found> => {
  const reader = checked(asked)
  try {
    const bad = openBadBytes()
    const file = await openFile(place, {fileKey, reader, cleaning}, {numbersOf: numbersChosen(choices), bad})
    const {rows, ...evidence} = await examine(file, file.workbook)
    return {
      reader: file.workbook && reader.format === 'xlsx' ? {...reader, sheet: file.workbook.sheet.name} : reader,
      rows,
      isGuarded: file.workbook?.guards.found,
      evidence: {
        ...(sniffed && {sniffed: sniffedFor(sniffed, file.workbook?.sheet.name)}),
        ...evidence,
        // The candidates are of the bytes, whatever encoding they are read in.
        ...(reader.format === 'csv' && {text: {...text, bad: bad.found()}}),
      },
    }
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

/** Once another sheet is chosen, nothing is to be told of the one that was passed over. */
const sniffedFor = (sniffed: Sniffed, sheet: string | undefined): Sniffed => {
  if (!('passed' in sniffed) || sniffed.sheet === sheet) return sniffed
  const {passed: _, ...rest} = sniffed
  return rest
}

export const fileGone = () => new Refusal('FILE_GONE', 'The file is no longer in storage. Upload it again')
