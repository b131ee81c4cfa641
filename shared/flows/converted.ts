import type {DiscoveredField} from '../crm/discovered.ts'
import type {Reading} from '../imports/choices.ts'

/** What of a field the conversion needs; a run's snapshot keeps just this. */
export type FieldShape = Pick<DiscoveredField, 'apiName' | 'type' | 'length' | 'picklist'> & {decimalPlaces?: number | null}

export type {Reading}

/** How one mapping's values are to be read. Without a reading nothing of a file is read: numbers have a point, dates are ISO 8601. */
export type Rules = {
  reading?: Reading | undefined
  /** Of dates, as the mapping states it. */
  format?: string | undefined
  /** Whose clock a time without an offset is by. */
  zone?: string | undefined
  /** What becomes of a choice the picklist does not have. */
  unlisted?: 'reject' | 'pass' | undefined
  /** What a cell's word stands for in the picklist, by the word without its case. */
  map?: ReadonlyMap<string, string> | undefined
}

export type Refused = {ok: false; code: 'INVALID_VALUE' | 'TOO_LONG' | 'NOT_IN_PICKLIST' | 'AMBIGUOUS_VALUE'; message: string}
/** `rounded`: the text has more decimal places than the field. */
export type Converted = {ok: true; value: unknown; rounded?: boolean} | Refused
export type Conversion = (text: string, field: FieldShape, rules: Rules) => Converted

export const taken = (value: unknown): Converted => ({ok: true, value})
export const invalid = ({apiName}: FieldShape, expected: string): Refused => ({
  ok: false,
  code: 'INVALID_VALUE',
  message: `${apiName} takes ${expected}`,
})

export const tooLong = ({apiName, length}: FieldShape, size: number, unit = 'characters'): Refused => ({
  ok: false,
  code: 'TOO_LONG',
  message: `${apiName} takes at most ${length} ${unit}; this cell has ${size}`,
})
