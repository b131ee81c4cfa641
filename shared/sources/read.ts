import type {Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import {openBadBytes} from '../imports/bad-bytes.ts'
import {type Choices, numbersChosen} from '../imports/choices.ts'
import {examine} from '../imports/examine.ts'
import type {Sniffed} from '../imports/intake.ts'
import type {Reader} from '../imports/reader.ts'
import {checked} from '../imports/sniff.ts'
import {type FilePlace, openFile} from '../imports/stored-file.ts'
import {StorageMissing} from '../storage.ts'
import type {SourceEvidence} from './describe.ts'

type Asked = Pick<Source, 'fileKey' | 'cleaning' | 'evidence'> & {reader: object; choices: Choices}

/** Reads the stored file to its end, as asked. What was sniffed when it came is kept; a reading that fails changes nothing. */
export const readSource = async (
  place: FilePlace,
  {fileKey, cleaning, reader: asked, choices, evidence: known}: Asked,
): Promise<{reader: Reader; rows: number; evidence: SourceEvidence}> => {
  const reader = checked(asked)
  try {
    const bad = openBadBytes()
    const file = await openFile(place, {fileKey, reader, cleaning}, {numbersOf: numbersChosen(choices), bad})
    const {rows, ...evidence} = await examine(file, file.workbook)
    const {sniffed, text} = known as SourceEvidence
    return {
      reader: file.workbook && reader.format === 'xlsx' ? {...reader, sheet: file.workbook.sheet.name} : reader,
      rows,
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
