import type {DiscoveredField} from '../../crm/discovered.ts'
import type {ColumnReading} from '../../files/choices.ts'

/** The properties of a field that the conversion of cells needs. A run's snapshot stores only these. */
export type FieldShape = Pick<DiscoveredField, 'apiName' | 'type' | 'length' | 'picklist'> & {decimalPlaces?: number | null}

export type {ColumnReading as Reading}

/**
 * How the values of one mapping are read. Without a `reading`, only a point is a decimal mark. Without `reading` and `format`, a date must be
 * in ISO 8601 or name its month.
 */
export type Rules = {
  reading?: ColumnReading | undefined
  format?: string | undefined
  /** Time zone of times that state no offset. */
  zone?: string | undefined
  /** What happens to a value that the picklist does not have: it is rejected, or passed on unchanged. */
  unlisted?: 'reject' | 'pass' | undefined
}

export type RefusedValue = {ok: false; code: 'INVALID_VALUE' | 'TOO_LONG' | 'NOT_IN_PICKLIST' | 'AMBIGUOUS_VALUE'; message: string}
/** `rounded`: the text has more decimal places than the field stores. */
export type ConvertedValue = {ok: true; value: unknown; rounded?: boolean} | RefusedValue
export type Conversion = (text: string, field: FieldShape, rules: Rules) => ConvertedValue

export const converted = (value: unknown): ConvertedValue => ({ok: true, value})
export const invalid = ({apiName}: FieldShape, expected: string): RefusedValue => ({
  ok: false,
  code: 'INVALID_VALUE',
  message: `${apiName} takes ${expected}`,
})

export const tooLong = ({apiName, length}: FieldShape, size: number, unit = 'characters'): RefusedValue => ({
  ok: false,
  code: 'TOO_LONG',
  message: `${apiName} takes at most ${length} ${unit}; this cell has ${size}`,
})
