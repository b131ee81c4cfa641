import {messages} from './answers.ts'
import {type Org, userById} from './org.ts'
import {type DataType, defaultLengths, type FieldSpec} from './schema.ts'
import {isDate, parseInstant} from './zones.ts'

/** The reason why a value is refused; the caller adds the path. */
export class Problem {
  readonly code: string
  readonly details: Record<string, unknown>
  readonly message: string
  constructor(details: Record<string, unknown>, message = messages.INVALID_DATA!, code = 'INVALID_DATA') {
    this.code = code
    this.details = details
    this.message = message
  }
}

/** Returns the value to store, or the problem. Never called with null or empty values. */
export type Check = (value: unknown) => unknown

export const invalidId = 'the id given seems to be invalid'

export const createCheck = (org: Org, spec: FieldSpec): Check => {
  const length = spec.length ?? defaultLengths[spec.type]
  return checks[spec.type]({org, spec, length})
}

type Maker = (about: {org: Org; spec: FieldSpec; length: number}) => Check

const expected = (type: string) => new Problem({expected_data_type: type})
const tooLong = (length: number) => new Problem({maximum_length: length})

const textual =
  (type: DataType, pattern?: RegExp): Maker =>
  ({length}) => {
    const wrong = expected(type)
    const long = tooLong(length)
    return value => {
      if (typeof value !== 'string') return wrong
      if (value.length > length) return long
      return pattern && !pattern.test(value) ? wrong : value
    }
  }

const decimal =
  (type: DataType): Maker =>
  ({spec, length}) => {
    const wrong = expected('double')
    const long = tooLong(length)
    const scale = 10 ** (spec.decimals ?? 2)
    const most = 10 ** (type === 'percent' ? 5 : length)
    return value => {
      if (typeof value !== 'number' || !Number.isFinite(value)) return wrong
      if (Math.abs(value) >= most) return long
      const rounded = Math.round(value * scale) / scale
      return Number.isFinite(rounded) ? rounded : value
    }
  }

const integer: Maker = ({length}) => {
  const most = 10 ** length
  return value => {
    if (typeof value !== 'number' || !Number.isInteger(value)) return expected('integer')
    return Math.abs(value) >= most ? tooLong(length) : value
  }
}

const bigint: Maker = ({length}) => {
  return value => {
    const digits = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
    if (typeof digits !== 'string' || !/^-?\d+$/.test(digits)) return expected('bigint')
    return digits.replace('-', '').length > length ? tooLong(length) : digits
  }
}

const picklist: Maker = ({org, spec, length}) => {
  const known = new Set(displayValues(spec))
  return value => {
    if (typeof value !== 'string') return expected('picklist')
    if (value.length > length) return tooLong(length)
    return org.switches.strictPicklists && !known.has(value) ? new Problem({expected_data_type: 'picklist'}) : value
  }
}

const multiPicklist: Maker = ({org, spec}) => {
  const known = new Set(displayValues(spec))
  return value => {
    if (!Array.isArray(value) || value.some(one => typeof one !== 'string')) return expected('jsonarray')
    return org.switches.strictPicklists && value.some(one => !known.has(one)) ? expected('jsonarray') : value
  }
}

const lookup: Maker = ({org, spec}) => {
  const unknown = new Problem({}, invalidId)
  return value => {
    const id = idIn(value)
    if (id === null) return expected('jsonobject')
    return org.modules.get(spec.lookup ?? '')?.store.byId.has(id) ? id : unknown
  }
}

const userLookup: Maker = ({org}) => {
  return value => {
    const id = idIn(value)
    if (id === null) return expected('jsonobject')
    return userById(org, id)?.status === 'active' ? id : new Problem({}, invalidId)
  }
}

/** Reads a list of tags. Each needs a name; its id is ignored. Source: the vendor's SDK, class `Tag`. */
const tags: Check = value => {
  if (!Array.isArray(value)) return expected('jsonarray')
  const names = value.map(one => (typeof one === 'object' && one !== null && 'name' in one ? one.name : null))
  return names.every(name => typeof name === 'string' && name !== '') ? names.map(name => ({name})) : expected('jsonobject')
}

const readOnly: Maker = () => value => value

const checks: Record<DataType, Maker> = {
  text: textual('text'),
  textarea: textual('textarea'),
  website: textual('website', /^(?:(?:https?|ftp):\/\/)?[^\s/.]+\.[^\s]+$/),
  phone: textual('phone', /^[+]?[0-9A-Za-z().\-\s]+$/),
  email: textual('email', /^[^\s@,;<>()]+@[^\s@,;<>()]+\.[^\s@,;<>()]+$/),
  autonumber: readOnly,
  profileimage: readOnly,
  picklist,
  multiselectpicklist: multiPicklist,
  integer,
  bigint,
  double: decimal('double'),
  percent: decimal('percent'),
  currency: decimal('currency'),
  boolean: () => value => (typeof value === 'boolean' ? value : expected('boolean')),
  date: () => value => (typeof value === 'string' && isDate(value) ? value : expected('date')),
  datetime: () => value =>
    typeof value === 'string' && !/\.\d/.test(value) ? (parseInstant(value) ?? expected('datetime')) : expected('datetime'),
  lookup,
  ownerlookup: userLookup,
  userlookup: userLookup,
  multiselectlookup: readOnly,
  subform: readOnly,
  formula: readOnly,
  tag: () => tags,
}

/**
 * Lists the display values, which writes accept and reads return. Source: help.zoho.com, Kaizen #205; the vendor's SDK validates them
 * (lib/utils/util/utility.js).
 */
export const displayValues = (spec: FieldSpec) => (spec.options ?? []).map(option => (typeof option === 'string' ? option : option.display))

/** Returns the id of `{"id":"44…"}` or of a bare id; null if it is no text. */
const idIn = (value: unknown): string | null => {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : value
  return typeof id === 'string' ? id : null
}
