import {plural} from '../ui/format.ts'
import {translate} from './language.ts'

export const t = translate('verification', {
  readBack: 'Read back from the CRM',
  rowsReadBack: (rows: number) => `${plural(rows, 'written row')} read back.`,
  allAsSent: 'All values are as they were sent.',
  rowsCoerced: (rows: number) => `${plural(rows, 'row')} with values that the CRM cut or converted.`,
  rowsChanged: (rows: number) => `${plural(rows, 'row')} with values that a person or an automation changed since.`,
  rowsMissing: (rows: number) => `${plural(rows, 'row')} whose record is gone.`,
  rowsUnread: (rows: number) => `${plural(rows, 'row')} that the CRM did not show.`,
  rowsWaiting: (rows: number) => `${plural(rows, 'row')} still to be read.`,
  rowsUnverified: (rows: number) => `${plural(rows, 'row')} not read, because the run was stopped.`,
  patchesCoerced: (patches: number) => `${plural(patches, 'patch', 'patches')} with values that the CRM cut or converted.`,
  patchesChanged: (patches: number) => `${plural(patches, 'patch', 'patches')} with values that a person or an automation changed since.`,
  field: 'Field',
  asSent: 'As sent',
  truncated: 'Cut',
  coerced: 'Converted',
  changed: 'Changed since',
  missing: 'Record gone',
  firstDifferences: 'First differences',
  row: 'Row',
  found: 'Found',
  sent: 'Sent',
  read: 'In the CRM',
  empty: '(empty)',
  downloadVerifyCsv: 'Download all differences',
})
