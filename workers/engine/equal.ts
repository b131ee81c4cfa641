import type {FieldShape} from '../../shared/flows/converted.ts'
import {roundTo} from '../../shared/flows/numbers.ts'
import {findOption} from '../../shared/flows/picklist.ts'

export type Field = Pick<FieldShape, 'apiName' | 'type' | 'decimalPlaces' | 'picklist'>
type Values = Record<string, unknown>

/**
 * Whether a record holds what was sent: every value sent that can be compared is there. What was sent empty is not asked after, since the CRM
 * may fill it itself. With nothing to compare no record is equal.
 */
export const isEqual = (fields: readonly Field[], sent: Values, record: Values): boolean => {
  const compared = comparedOf(fields, sent)
  return compared.length > 0 && compared.every(field => agrees(field, sent[field.apiName], record[field.apiName]))
}

/**
 * Whether a record that is not equal may be the one sent, changed since by an automation of the CRM or by a person. It agrees in all of `telling`
 * that were sent, and in at least half of all that was sent: what agrees in less is another record. If none of `telling` was sent, one
 * field that agrees will do.
 */
export const isNear = (
  fields: readonly Field[],
  sent: Values,
  record: Values,
  telling: readonly (string | null | undefined)[],
): boolean => {
  const compared = comparedOf(fields, sent)
  const told = compared.filter(({apiName}) => telling.includes(apiName))
  const isHeld = (field: Field) => agrees(field, sent[field.apiName], record[field.apiName])
  if (told.length === 0) return compared.some(isHeld)
  return told.every(isHeld) && 2 * compared.filter(isHeld).length >= compared.length
}

/** Of the fields, those that were sent with a value by which records can be told. */
export const comparedOf = (fields: readonly Field[], sent: Values): Field[] =>
  fields.filter(({apiName, type}) => !UNCOMPARED.has(type) && !isEmpty(sent[apiName]))

/** The CRM's own to fill, or read in another shape than they are sent in. */
const UNCOMPARED = new Set([
  ...['autonumber', 'formula', 'rollup_summary', 'subform', 'multiselectlookup', 'multiuserlookup'],
  ...['fileupload', 'imageupload', 'profileimage'],
])

const isEmpty = (value: unknown) => value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

const agrees = (field: Field, sent: unknown, read: unknown): boolean => {
  if (field.type === 'boolean') return isTrue(sent) === isTrue(read)
  return !isEmpty(read) && (COMPARISONS[field.type] ?? areTexts)(sent, read, field)
}

type Comparison = (sent: unknown, read: unknown, field: Field) => boolean

/** A box that was never ticked may not be told at all. */
const isTrue = (value: unknown) => value === true || value === 'true'

const areTexts: Comparison = (sent, read) => plain(sent) === plain(read)

const plain = (value: unknown) => String(value).normalize('NFC').replace(/\r\n?/g, '\n').trim()

const areFolded: Comparison = (sent, read) => plain(sent).toLowerCase() === plain(read).toLowerCase()

/** A list of records cuts rich text there, be it within a mark. Source: wire reference 5.1. */
const richLength = 500
/** Whatever is written in, the beginning tells: what is looked at has an end. */
const longestLookedAt = 8 * richLength

const areRich: Comparison = (sent, read, field) => {
  if (areTexts(sent, read, field)) return true
  const isCut = String(read).length === richLength
  if (!isCut && !isMarked(sent) && !isMarked(read)) return false
  const [one, other] = [strip(plain(sent)), strip(isCut ? plain(read).replace(/<[^>]*$|&\w*$/, '') : plain(read))]
  return other !== '' && (isCut ? one.startsWith(other) : one === other)
}

const isMarked = (value: unknown) => /<\/?[a-z][^<>]*>/i.test(String(value))

const strip = (text: string) => text.slice(0, longestLookedAt).replace(/<[^>]*>|&nbsp;|\s/g, '')

const areNumbers: Comparison = (sent, read, {decimalPlaces}) => {
  const [one, other] = [sent, read].map(value => roundTo(String(value), decimalPlaces ?? null))
  return one === other && !Number.isNaN(one)
}

/** Longer than a number holds. */
const areLong: Comparison = (sent, read) => String(sent).replace(/^\+/, '') === String(read).replace(/^\+/, '')

const areDays: Comparison = (sent, read) => String(sent).slice(0, 10) === String(read).slice(0, 10)

const areMoments: Comparison = (sent, read) => {
  const [one, other] = [sent, read].map(value => Math.floor(Date.parse(String(value)) / 1000))
  return one === other
}

/** Told with its seconds or without. */
const areTimes: Comparison = (sent, read) => String(sent).slice(0, 5) === String(read).slice(0, 5)

const areLinks: Comparison = (sent, read) => idIn(sent) === idIn(read)

const idIn = (value: unknown) => String(typeof value === 'object' && value !== null && 'id' in value ? value.id : value)

const areChoices: Comparison = (sent, read, field) => choice(sent, field) === choice(read, field)

/** An option has two values, and either may be sent or read. */
const choice = (value: unknown, field: Field) => {
  const text = plain(value)
  return findOption(text, field)?.actual ?? text
}

const areSets: Comparison = (sent, read, field) => {
  const [one, other] = [sent, read].map(value => new Set(listIn(value).map(item => choice(item, field))))
  return one!.size === other!.size && one!.isSubsetOf(other!)
}

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : String(value).split(';'))

const COMPARISONS: Record<string, Comparison> = {
  ...{email: areFolded, website: areFolded, textarea: areRich, richtext: areRich, picklist: areChoices, multiselectpicklist: areSets},
  ...{integer: areNumbers, double: areNumbers, percent: areNumbers, currency: areNumbers, bigint: areLong, long: areLong},
  ...{date: areDays, datetime: areMoments, time: areTimes, lookup: areLinks, ownerlookup: areLinks, userlookup: areLinks},
}
