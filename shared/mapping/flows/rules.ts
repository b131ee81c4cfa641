import type {Mapping} from './flow.ts'
import type {Rules} from './value.ts'

/**
 * Returns how a mapping's values are read. `reading` is the reading of the column; it is given if the values are the column's unchanged
 * cells.
 */
export const rulesOf = ({format, zone, picklist}: Mapping, reading?: Rules['reading']): Rules => ({
  reading,
  format: format ?? undefined,
  zone: zone ?? undefined,
  unlisted: picklist === 'pass' ? 'pass' : 'reject',
})
