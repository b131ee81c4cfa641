import type {Mapping} from './flow.ts'
import type {Rules} from './value.ts'

/** `reading`: the reading of the column. Undefined for values that do not come unchanged from a cell. */
export const rulesOf = ({format, zone, picklist}: Mapping, reading?: Rules['reading']): Rules => ({
  reading,
  format: format ?? undefined,
  zone: zone ?? undefined,
  unlisted: picklist === 'pass' ? 'pass' : 'reject',
})
