import type {Mapping} from './flow.ts'
import type {Rules} from './value.ts'

/** Returns how a mapping's values are read. `reading`: the reading of the column, given only for unchanged cells of the column. */
export const rulesOf = ({format, zone, picklist}: Mapping, reading?: Rules['reading']): Rules => ({
  reading,
  format: format ?? undefined,
  zone: zone ?? undefined,
  unlisted: picklist === 'pass' ? 'pass' : 'reject',
})
