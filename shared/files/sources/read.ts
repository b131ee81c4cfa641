import type {Source} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {type FailedRowsOrigin, findOrigin, isFailedFile, rangeWithoutReasons} from '../../runs/results/reason-columns.ts'
import {StorageMissing} from '../../storage/missing.ts'
import {type Choices, numbersChosen} from '../choices.ts'
import {examine} from '../examine.ts'
import {type NewFile, readNewFile, type SniffedFile} from '../new-file.ts'
import {dropUnusedDecimals, dropUnusedOpenQuotes, type Reader} from '../reader.ts'
import {type FileDeps, limitsOf, openFile} from '../stored-file.ts'
import {openBadBytes} from '../text/bad-bytes.ts'
import {checked} from '../text/sniff.ts'
import {describeFindings} from './describe.ts'
import type {SourceEvidence} from './evidence.ts'

type ReadSourceInput = Pick<Source, 'fileKey' | 'cleaning'> & {reader: object; choices: Choices; evidence: SourceEvidence}
/** `isGuarded`: cells of the workbook have the apostrophes that failed.csv puts before cells that look like formulas. */
type FoundFile = {reader: Reader; rows: number; evidence: SourceEvidence; isGuarded?: boolean | undefined}

/**
 * `evidence` and `findings` are JSON. `corrects`: the run and the source whose failed rows the file contains, if it is a failed.csv that names them.
 */
export type FileRead = {reader: Reader; rows: number; evidence: string; findings: string; corrects?: FailedRowsOrigin | undefined}

export const readNewSource = async ({storage, config}: FileDeps, file: NewFile): Promise<FileRead> => {
  const {reader, rows, corrects, ...evidence} = await readNewFile({storage, limits: limitsOf(config)}, file)
  return {reader, rows, evidence: JSON.stringify(evidence), findings: describeFindings({reader, choices: {}}, evidence), corrects}
}

/**
 * Reads another sheet of a workbook. A sheet with the apostrophes or reason columns of failed.csv is read again without them. `evidence`: the
 * evidence of the sheet that was read before.
 */
export const readSheet = async (
  deps: FileDeps,
  {fileKey, sheet, evidence: known}: {fileKey: string; sheet: string; evidence: string},
): Promise<FileRead> => {
  const asked = {fileKey, cleaning: [], choices: {}, reader: {format: 'xlsx', sheet, decimals: 'shortest'}, evidence: JSON.parse(known)}
  const found = await readSource(deps, asked)
  const more = {
    ...(found.isGuarded && {apostrophes: 'remove'}),
    ...(isFailedFile(found.evidence.fileColumns ?? []) && {range: rangeWithoutReasons}),
  }
  const isPlain = Object.keys(more).length === 0
  const {reader, rows, evidence} = isPlain ? found : await readSource(deps, {...asked, reader: {...asked.reader, ...more}})
  const corrects = findOrigin(found.evidence.fileColumns?.[0])
  return {reader, rows, evidence: JSON.stringify(evidence), findings: describeFindings({reader, choices: {}}, evidence), corrects}
}

/** Reads the stored file to its end with the given options. The sniffed facts of the upload are kept. */
export const readSource = async (
  deps: FileDeps,
  {fileKey, cleaning, reader: asked, choices, evidence: {sniffed, text}}: ReadSourceInput,
): Promise<FoundFile> => {
  const reader = checked(asked)
  try {
    const bad = openBadBytes()
    const file = await openFile(deps, {fileKey, reader, cleaning}, {numbersOf: numbersChosen(choices), bad})
    const {rows, ...evidence} = await examine(file, file.workbook)
    return {
      reader:
        reader.format === 'csv'
          ? dropUnusedOpenQuotes(reader, file)
          : dropUnusedDecimals({...reader, sheet: file.workbook!.sheet.name}, file.workbook!),
      rows,
      isGuarded: file.workbook?.guards.found,
      evidence: {
        ...(sniffed && {sniffed: sniffedFor(sniffed, file.workbook?.sheet.name)}),
        ...evidence,
        // The encoding candidates depend on the bytes, not on the chosen encoding.
        ...(reader.format === 'csv' && {text: {...text, bad: bad.found()}}),
      },
    }
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

/** Drops `passed`, the note about a skipped first sheet, if the sheet is not the sniffed one. */
const sniffedFor = (sniffed: SniffedFile, sheet: string | undefined): SniffedFile => {
  if (!('passed' in sniffed) || sniffed.sheet === sheet) return sniffed
  const {passed: _, ...rest} = sniffed
  return rest
}

export const fileGone = () => new Refusal('FILE_GONE', 'The file is no longer in storage. Upload it again')
