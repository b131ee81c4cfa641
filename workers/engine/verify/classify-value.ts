import {roundTo} from '../../../shared/mapping/flows/numbers.ts'
import type {VerifyResult} from '../../../sql/verify-results.ts'
import {type ComparedField, formOf, isEqual, wholeFormOf} from '../match/compare-values.ts'

/**
 * Facts about a record that was read back. `isByOther`: another user changed the record last. `isTouched`: the record was changed after the
 * run's last write, or automations of the CRM may have changed it.
 */
export type RecordTraces = {isByOther: boolean; isTouched: boolean}

/**
 * Compares a sent value with the value that was read; `uncompared` if either has no comparable form. A different value is `changed` if
 * another user changed the record last. Otherwise it is `truncated` if it is a prefix, and `coerced` if it is another form of the sent
 * value. Any remaining value is `changed` if the record was touched, else `coerced`, because only the CRM can have replaced it.
 */
export const classifyValue = (
  field: ComparedField,
  {sent, read}: {sent: unknown; read: unknown},
  {isByOther, isTouched}: RecordTraces,
): Exclude<VerifyResult, 'missing'> => {
  const ours = formOf(field, sent)
  // Most values are as they were sent, so the form of an identical value is computed once.
  const theirs = read !== undefined && read === sent ? ours : wholeFormOf(field, read)
  if (field.type === 'boolean' && sent === false && (read === null || read === undefined)) return 'as_sent'
  if (ours === undefined || theirs === undefined) return 'uncompared'
  if (ours === theirs) return 'as_sent'
  if (isByOther) return 'changed'
  if (isBeginning(field, ours, theirs)) return 'truncated'
  if (isSameInOtherForm(field, sent, read)) return 'coerced'
  return isTouched ? 'changed' : 'coerced'
}

const TEXTS = new Set(['text', 'textarea', 'email', 'phone', 'website', 'picklist'])
const NUMBERS = new Set(['integer', 'double', 'percent', 'currency'])

const isBeginning = ({type}: ComparedField, sent: string, read: string) => TEXTS.has(type) && read !== '' && sent.startsWith(read)

/**
 * Whether the values are the same in another form. Texts need equal letters and digits: case, accents, spaces and punctuation are ignored. Numbers
 * may have lost decimal places. Date-times need only the same day.
 */
const isSameInOtherForm = (field: ComparedField, sent: unknown, read: unknown): boolean => {
  if (isEmpty(sent) || isEmpty(read)) return false
  const {apiName, type} = field
  if (isEqual([field], {[apiName]: sent}, {[apiName]: read})) return true
  if (TEXTS.has(type)) return lettersOf(sent) === lettersOf(read) && lettersOf(sent) !== ''
  if (NUMBERS.has(type)) return Math.abs(Number(roundTo(String(sent), placesOf(read))) - Number(read)) < Number.EPSILON
  return type === 'datetime' && String(sent).slice(0, 10) === String(read).slice(0, 10)
}

const isEmpty = (value: unknown) => value === null || value === undefined || value === ''

const lettersOf = (value: unknown) =>
  String(value)
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')

const placesOf = (value: unknown) => String(value).split('.')[1]?.length ?? 0
