import type {FileRow} from '../../files/row.ts'
import type {Mapping} from './flow.ts'
import type {Rules} from './value.ts'

/** `reading`: the reading of the column. Undefined for values that do not come unchanged from a cell. */
export const rulesOf = ({format, zone, picklist}: Mapping, reading?: Rules['reading']): Rules => ({
  reading,
  format: format ?? undefined,
  zone: zone ?? undefined,
  unlisted: picklist === 'pass' ? 'pass' : 'reject',
})

/** Returns the rules for one cell of a column. A cell that the file stores as a number has a decimal point, whatever mark the column's texts have. */
export const rulesAt = (rules: Rules | undefined, {numeric}: FileRow, at: number | null): Rules | undefined =>
  rules?.reading && at !== null && numeric?.[at] ? {...rules, reading: {...rules.reading, decimalMark: 'point'}} : rules
