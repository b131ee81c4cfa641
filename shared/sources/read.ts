import type {Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import {examine} from '../imports/examine.ts'
import type {Reader} from '../imports/reader.ts'
import {checked} from '../imports/sniff.ts'
import {type FilePlace, openFile} from '../imports/stored-file.ts'
import {StorageMissing} from '../storage.ts'
import type {SourceEvidence} from './describe.ts'

type Asked = Pick<Source, 'fileKey' | 'cleaning' | 'evidence'> & {reader: object}

/** Reads the stored file to its end, as asked. What was sniffed when it came is kept; a reading that fails changes nothing. */
export const readSource = async (
  place: FilePlace,
  {fileKey, cleaning, reader: asked, evidence: known}: Asked,
): Promise<{reader: Reader; rows: number; evidence: SourceEvidence}> => {
  const reader = checked(asked)
  try {
    const file = await openFile(place, {fileKey, reader, cleaning})
    const {rows, ...evidence} = await examine(file, file.workbook)
    const {sniffed} = known as SourceEvidence
    return {
      reader: file.workbook && reader.format === 'xlsx' ? {...reader, sheet: file.workbook.sheet.name} : reader,
      rows,
      evidence: {...(sniffed && {sniffed}), ...evidence},
    }
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

export const fileGone = () => new Refusal('FILE_GONE', 'The file is no longer in storage. Upload it again')
