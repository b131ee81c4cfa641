import type {NameReading} from './meaning.ts'
import {overlap} from './similar.ts'

/** The kinds of a module's records, such as `company`, as in `NameReading.of`. An empty set means that the kinds are unknown. */
export type Records = ReadonlySet<string>

const bestByMeaning = 0.96
const foreign = 0.45
const addressParts = new Set(['address', 'street', 'city', 'state', 'zip', 'country', 'latitude', 'longitude'])
const ofCompanies = new Set([
  'industry',
  'employees',
  'revenue',
  'website',
  'siccode',
  'ticker',
  'accountnumber',
  'taxid',
  'ownership',
  'name',
])
/** Properties that every kind of record has. So a column such as `company status` fits only a module of companies. */
const ofTheirOwn = new Set(['status', 'type', 'source', 'rating', 'owner', 'stage'])
const reachable = new Set(['phone', 'email', 'mobile', 'fax', 'street', 'address'])

/**
 * Scores for addresses. First key: the kind of the field's address. Second key: the kind that the column's name states, or `none`. A column whose
 * name states no kind most likely has the module's main address.
 */
const byAddress: Record<string, Record<string, number>> = {
  none: {none: 1, mailing: 0.95, work: 0.93, billing: 0.85, visiting: 0.7, home: 0.62, shipping: 0.5, other: 0.4},
  mailing: {mailing: 1, none: 0.94, work: 0.94, billing: 0.7, home: 0.6, visiting: 0.6, shipping: 0.35, other: 0.25},
  billing: {billing: 1, none: 0.94, mailing: 0.92, work: 0.9, visiting: 0.55, home: 0.5, other: 0.25, shipping: 0.2},
  shipping: {shipping: 1, visiting: 0.72, other: 0.62, none: 0.3, home: 0.3, work: 0.3, mailing: 0.3, billing: 0.15},
  other: {other: 1, home: 0.68, visiting: 0.6, shipping: 0.6, none: 0.3, billing: 0.25, mailing: 0.25, work: 0.25},
  home: {home: 1, other: 0.5, none: 0.3, mailing: 0.3, billing: 0.2, work: 0.2, shipping: 0.2, visiting: 0.2},
  work: {work: 1, none: 0.85, mailing: 0.8, billing: 0.7, visiting: 0.7, shipping: 0.4, home: 0.2, other: 0.3},
  visiting: {visiting: 1, shipping: 0.6, work: 0.6, none: 0.5, mailing: 0.4, billing: 0.3, home: 0.3, other: 0.4},
}
const byLine: Record<string, Record<string, number>> = {
  none: {none: 1, work: 0.96, mailing: 0.9, billing: 0.75, home: 0.5, shipping: 0.4, other: 0.3},
  work: {work: 1, none: 0.9, mailing: 0.9, billing: 0.6, home: 0.2, other: 0.25, shipping: 0.3},
  home: {home: 1, none: 0.25, mailing: 0.2, work: 0.15, other: 0.4, billing: 0.2, shipping: 0.2},
  other: {other: 1, home: 0.8, none: 0.25, mailing: 0.2, work: 0.25, billing: 0.25, shipping: 0.25},
  mailing: {mailing: 1, none: 0.92, work: 0.9, home: 0.3, other: 0.2, billing: 0.5, shipping: 0.3},
}
const byPrice: Record<string, number> = {gross: 0.84, special: 0.58, cost: 0.2, percent: 0.4}
/**
 * Factors for fields with a similar meaning, by the column's meaning, then by the field's. For example, an address may fill the street, and a
 * name the subject. The factors are below 1, because a field with the exact meaning fits better.
 */
const near: Record<string, Record<string, number>> = {
  address: {street: 0.9},
  name: {subject: 0.8, lastname: 0.74},
  site: {website: 0.76},
  location: {city: 0.76},
  status: {stage: 0.97},
  revenue: {amount: 0.78},
  mobile: {phone: 0.6},
  titled: {name: 0.9, subject: 0.85},
  code: {accountnumber: 0.72},
  ordered: {quantity: 0.95},
  quantity: {stock: 0.72},
  total: {amount: 0.75},
}
const order = ['billing', 'shipping', 'visiting', 'home', 'other', 'work', 'mailing']

/** Returns how well the meaning of a column's name agrees with a field, 0 to 1. */
export const agree = (column: NameReading, field: NameReading, records: Records): number => {
  const nearness = column.about === '' ? 0 : column.about === field.about ? 1 : (near[column.about]?.[field.about] ?? 0)
  if (nearness === 0) return 0
  const strength = bestByMeaning * nearness * column.weight * field.weight * kindsAgree(column, field) * nthAgree(column, field)
  if (strength < 0.1) return strength
  return strength * ofAgree(column, field, records) * restAgree(column.rest, field.rest)
}

const kindsAgree = (column: NameReading, field: NameReading): number => {
  const {about} = field
  const parts = about.split('+')
  if (parts.some(part => addressParts.has(part))) {
    const given = column.of.includes('invoice') && column.kinds.length === 0 ? 'billing' : groupOf(column)
    return byAddress[groupOf(field)]?.[given] ?? 0.2
  }
  if (about === 'phone' || about === 'email') {
    // A second phone or e-mail column (`Phone 2`) fits the field of the kind `other`.
    const given = column.nth === 2 && column.kinds.length === 0 ? 'other' : groupOf(column)
    return byLine[groupOf(field)]?.[given] ?? 0.3
  }
  if (about === 'price' && field.kinds.length === 0) return column.kinds.reduce((all, kind) => all * (byPrice[kind] ?? 0.6), 1)
  if (about === 'name' && column.kinds.length > 0 && field.kinds.length === 0) {
    return {billing: 0.78, mailing: 0.8, work: 0.9}[groupOf(column)] ?? 0.25
  }
  const extra = column.kinds.filter(kind => !field.kinds.includes(kind))
  const missing = field.kinds.filter(kind => !column.kinds.includes(kind))
  const mild = extra.every(kind => kind === 'work' || kind === 'mailing' || kind === 'percent')
  return (extra.length === 0 ? 1 : mild ? 0.9 : 0.5) * (missing.length === 0 ? 1 : 0.45)
}

const groupOf = ({kinds}: NameReading): string => order.find(kind => kinds.includes(kind)) ?? (kinds[0] === undefined ? 'none' : kinds[0])

const nthAgree = (column: NameReading, field: NameReading): number => {
  if (column.nth === field.nth) return 1
  if (field.nth === 0 && column.nth === 1) return 0.98
  if (column.nth === 0 && field.nth === 1) return 0.9
  const isSecondLine = (field.about === 'phone' || field.about === 'email') && field.kinds.includes('other') && column.nth === 2
  return isSecondLine && column.kinds.length === 0 ? 0.95 : 0.2
}

const ofAgree = (column: NameReading, field: NameReading, records: Records): number => {
  if (field.about === 'name' || column.about === 'name' || column.about === 'titled') return namesAgree(column, field, records)
  const isStrict = ofTheirOwn.has(field.about)
  const isOwn = (one: string) =>
    (isStrict ? hasExactly(records, one) : includes(records, one)) || field.of.some(other => isSame(one, other) && !isStrict)
  const strange = column.of.filter(one => one !== 'invoice' && !isOwn(one))
  const missing = field.of.filter(one => !includes(records, one) && !column.of.some(other => isSame(one, other)))
  const isCompanys = strange.every(one => one === 'company' || one === 'account') && ofCompanies.has(field.about)
  const isContacts = strange.every(one => one === 'person' || one === 'customer') && reachable.has(field.about) && !records.has('person')
  const given = strange.length === 0 || isCompanys || records.size === 0 ? 1 : isContacts ? 0.72 : foreign
  return given * (missing.length === 0 ? 1 : 0.6)
}

/**
 * Compares a column and a field that contain a name or a title. A header with a subject (`company name`) means the name of that subject. A header
 * without a subject means the name of the module's records.
 */
const namesAgree = (column: NameReading, field: NameReading, records: Records): number => {
  const own = field.of.length === 0 || field.of.some(one => hasExactly(records, one))
  // Things have titles; people and companies do not.
  if (column.about === 'titled' && !(own && ['product', 'deal', 'order', 'invoice', 'line'].some(one => records.has(one)))) return 0.3
  if (column.of.length === 0) return own ? (column.nth > 0 ? 0.6 : 0.95) : 0.1
  const [exact, near] = [column.of.some(one => field.of.includes(one)), column.of.some(one => field.of.some(other => isSame(one, other)))]
  if (exact) return 1
  if (near) {
    if (column.of.includes('account')) return 0.7
    return column.of.includes('customer') && field.of.includes('person') ? 0.78 : 0.82
  }
  return field.of.length === 0 && column.of.some(one => includes(records, one)) ? 0.95 : 0.1
}

const isSame = (a: string, b: string) => a === b || related[a]?.includes(b) === true
const related: Record<string, string[]> = {
  account: ['company'],
  company: ['account', 'customer'],
  customer: ['company', 'account', 'person'],
  person: ['customer'],
  buyer: ['person', 'customer'],
  line: ['product'],
  product: ['line'],
}
const hasExactly = (records: Records, one: string) =>
  records.has(one) || (one === 'company' && records.has('account')) || (one === 'account' && records.has('company'))
const includes = (records: Records, one: string) => records.has(one) || related[one]?.some(other => records.has(other)) === true

/** Returns how well the words without a known meaning agree between the column and the field, 0.15 to 1. */
const restAgree = (given: string[], wanted: string[]): number => {
  if (given.length === 0 && wanted.length === 0) return 1
  if (wanted.length === 0) return [1, 0.6, 0.4, 0.25][given.length] ?? 0.15
  if (given.length === 0) return [1, 0.55, 0.4][wanted.length] ?? 0.3
  return 0.3 + 0.7 * overlap(given, wanted) ** 2
}
