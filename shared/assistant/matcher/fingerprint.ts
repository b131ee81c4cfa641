import {type CellKind, lookOf, looks} from '../../files/cell-kind.ts'
import type {MatchColumn, MatchField} from './propose.ts'
import {normalForm} from './words.ts'

/** Statistics of a column's first 20 values that are not empty. If `count` is 0, no values are known. */
export type Fingerprint = {
  count: number
  /** Shares of the values, 0 to 1, that may have each format. A date may be any value with a digit. */
  email: number
  url: number
  phone: number
  date: number
  number: number
  boolean: number
  /** Share of values with a digit. */
  digits: number
  /** Share of values that link to profiles on social networks, which are not company websites. */
  profile: number
  percent: number
  money: number
  /** Share of values marked as telephone numbers by a plus, a leading zero or brackets. Dates are excluded. */
  line: number
  different: () => ReadonlySet<string>
  longest: number
}

const none: ReadonlySet<string> = new Set()
const mostValues = 20
const longestValue = 300
const kinds: CellKind[] = ['integer', 'decimal', 'boolean', 'date', 'email', 'url', 'phone', 'text']

export const readFingerprint = ({samples = [], type}: MatchColumn): Fingerprint => {
  const values: string[] = []
  for (const sample of samples) {
    if (values.length === mostValues) break
    if (typeof sample === 'string' && sample.trim() !== '') values.push(sample.trim().slice(0, longestValue))
  }
  if (values.length === 0) return ofKind(type)
  let different: ReadonlySet<string> | undefined
  const share = (is: (value: string) => boolean) => values.filter(is).length / values.length
  const kindOf = (value: string) => looks[lookOf(value)]!.kind
  return {
    count: values.length,
    email: share(value => kindOf(value) === 'email'),
    url: share(isAddress),
    phone: share(isLine),
    date: share(value => kindOf(value) === 'date' || /\d/.test(value)),
    number: share(isNumber),
    boolean: share(value => kindOf(value) === 'boolean' || value === '0' || value === '1'),
    digits: share(value => /\d/.test(value)),
    percent: share(value => /\d\s*%$/.test(value)),
    money: share(isMoney),
    line: share(value => isLine(value) && /^\s*[+(0]/.test(value) && value.replace(/\D/g, '').length >= 7 && !isDate(value)),
    profile: share(value => /(linkedin|facebook|instagram|twitter|xing|x)\.com\//i.test(value)),
    different: () => (different ??= new Set(values.map(normalForm))),
    longest: Math.max(...values.map(value => value.length)),
  }
}

/** Returns the statistics of a column of which only the kind is known, from the file's evidence. */
const ofKind = (type: string | undefined): Fingerprint => {
  const kind = kinds.find(one => one === type)
  const is = (...wanted: CellKind[]) => (kind && wanted.includes(kind) ? 1 : 0)
  const number = is('integer', 'decimal')
  return {
    count: kind && kind !== 'text' ? 1 : 0,
    email: is('email'),
    url: is('url'),
    phone: is('phone', 'integer'),
    date: is('date'),
    number,
    boolean: is('boolean'),
    digits: is('integer', 'decimal', 'date', 'phone'),
    profile: 0,
    percent: 0,
    money: 0,
    line: 0,
    different: () => none,
    longest: 0,
  }
}

const isAddress = (value: string) => /^(https?:\/\/)?[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+([/?#]\S*)?$/iu.test(value) && !value.includes('@')
const isLine = (value: string) => {
  const digits = value.replace(/\D/g, '').length
  return digits >= 5 && digits <= 17 && /^[\d\s()+./\-x;,]+$/i.test(value.replace(/^\D{0,6}[:.]/, ''))
}
const isNumber = (value: string) =>
  /^[^\p{L}]*\d[\d\s.,']*[^\p{L}]*$/u.test(value.replace(/^[A-Z]{3}\s|\s[A-Z]{3}$|€|\$|£|zł|kr/g, '')) && !isDate(value)
const isMoney = (value: string) => isNumber(value) && /\p{Sc}|\b[A-Z]{3}\b|zł|kr/u.test(value)
const isDate = (value: string) => looks[lookOf(value)]!.kind === 'date'

/**
 * What the values say about a field. `factor` multiplies the score of the names. A factor of 0 excludes the field; fewer than `fewest` values
 * never give 0. `speaks`: the values support the field.
 */
type Evidence = {factor: number; speaks: boolean}

const silent: Evidence = {factor: 1, speaks: false}
const against = (factor: number): Evidence => ({factor, speaks: false})
const speaking: Evidence = {factor: 1.04, speaks: true}

const numeric = new Set(['integer', 'bigint', 'double', 'currency', 'percent'])

/** Minimum number of values that can exclude a field. Fewer values only lower its score. */
const fewest = 3

export const weigh = (values: Fingerprint, field: MatchField, options: ReadonlySet<string>): Evidence => {
  if (values.count === 0) return silent
  const {dataType} = field
  const no = values.count >= fewest ? 0 : 0.5
  if (dataType === 'email') return values.email >= 0.5 ? speaking : values.email === 0 ? against(no) : against(0.6)
  if (dataType === 'website')
    return values.profile > 0.5 ? against(0.4) : values.url >= 0.5 ? speaking : values.url === 0 ? against(no) : silent
  if (dataType === 'phone') return values.phone >= 0.5 ? speaking : values.digits === 0 ? against(no) : against(0.7)
  if (dataType === 'date' || dataType === 'datetime') return values.date >= 0.5 ? speaking : values.date === 0 ? against(no) : against(0.6)
  if (numeric.has(dataType)) return values.number >= 0.5 ? speaking : values.digits === 0 ? against(no) : against(0.75)
  if (dataType === 'boolean')
    return values.boolean >= 0.8 ? speaking : values.boolean === 0 ? against(values.count >= fewest ? 0.3 : 0.6) : silent
  if (dataType === 'picklist' || dataType === 'multiselectpicklist') return weighOptions(values, options)
  return weighText(values, field)
}

const weighOptions = (values: Fingerprint, options: ReadonlySet<string>): Evidence => {
  if (options.size === 0) return silent
  const [different, {count}] = [values.different(), values]
  if (different.size === 0) return silent
  const common = [...different].filter(value => options.has(value)).length / different.size
  if (common >= 0.5) return {factor: 1.06, speaks: true}
  // Without a common value, the evidence against the field is weak: the values may be synonyms of the options, which a user can map.
  return common === 0 && different.size >= fewest && count >= fewest ? against(0.9) : silent
}

const weighText = (values: Fingerprint, {length}: MatchField): Evidence => {
  if (values.email >= 0.8 || values.profile >= 0.8) return against(0.5)
  return length && values.longest > length ? against(0.9) : silent
}

/**
 * How a field differs from the fields of all given modules. `isMain`: its name means a plain email or phone, without a qualifier or a number above 1.
 * `isOnly`: no other writable field has its type.
 */
type FieldPosition = {isMain: boolean; isOnly: boolean}

/**
 * Scores a field by values alone, for a column whose name has no meaning. `isOpaque`: the name is one or two letters, a number or a generic word for
 * a column, so weaker evidence is accepted too.
 */
export const isDistinctive = (
  values: Fingerprint,
  field: MatchField,
  {options, isOpaque, isMain, isOnly}: FieldPosition & {options: ReadonlySet<string>; isOpaque: boolean},
): number => {
  if (values.count < fewest) return 0
  const {dataType} = field
  if (dataType === 'email' && values.email >= 0.8) return isMain ? 0.64 : 0.5
  if (dataType === 'website' && values.url >= 0.8 && values.profile === 0 && values.email === 0) return 0.64
  if (dataType === 'picklist' && values.different().size >= 2 && [...values.different()].every(value => options.has(value))) return 0.64
  if (!isOpaque) return 0
  if (dataType === 'phone' && values.line >= 0.8) return isMain ? 0.64 : 0.5
  if (!isOnly) return 0
  if ((dataType === 'date' || dataType === 'datetime') && values.date >= 0.8 && values.number < 0.5 && values.line < 0.5) return 0.62
  if (dataType === 'currency' && values.money >= 0.8) return 0.62
  if (isPercent(field) && values.percent >= 0.8) return 0.62
  return dataType === 'boolean' && values.boolean >= 0.8 && values.number < 0.5 ? 0.62 : 0
}

const isPercent = ({dataType, apiName}: MatchField) => dataType === 'percent' || (numeric.has(dataType) && /probability/i.test(apiName))

/** Returns the type by which `isOnly` compares fields, because values cannot distinguish fields of one type. */
export const typeOf = (field: MatchField) => (isPercent(field) ? 'percent' : field.dataType === 'datetime' ? 'date' : field.dataType)
