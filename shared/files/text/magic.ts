import {Refusal} from '../../errors.ts'

const foreign: [string, string][] = [
  ['%PDF-', 'a PDF'],
  ['\u001f\u008b', 'a gzip file'],
  ['Rar!', 'a RAR archive'],
  ['7z\u00bc\u00af', 'a 7-Zip archive'],
  ['{\\rtf', 'an RTF document'],
  ['MIME-Version:', 'a web archive (MHTML), although its name may end with .xls'],
]

/**
 * Detects the format from the file's first bytes. An unknown format is read as CSV. For a known format that cannot be read, the refusal names the
 * format.
 */
export const formatOf = (sample: Uint8Array): 'csv' | 'xlsx' => {
  const start = Buffer.from(sample.subarray(0, 16)).toString('latin1')
  if (start.startsWith('PK\u0003\u0004') || start.startsWith('PK\u0005\u0006')) return 'xlsx'
  if (start.startsWith('\u00d0\u00cf\u0011\u00e0')) throw compound(sample)
  const found = foreign.find(([mark]) => start.startsWith(mark))
  if (found) throw new Refusal('FILE_FORMAT', `The file is ${found[1]}. Save it as CSV (UTF-8) or as .xlsx and send that`)
  return 'csv'
}

/** An OLE compound file with the stream `EncryptedPackage` is a workbook with a password. Any other is assumed to be an old .xls workbook. */
const compound = (sample: Uint8Array) =>
  Buffer.from(sample).includes(Buffer.from('EncryptedPackage', 'utf16le'))
    ? new Refusal('FILE_ENCRYPTED', 'The workbook is protected by a password. Save it without one and send that')
    : new Refusal(
        'FILE_FORMAT',
        'The file is an old Excel workbook (.xls), or one with a password. Save it as .xlsx without a password, or as CSV (UTF-8), and send that',
      )
