import {filled, LONGEST_WRITTEN, shown} from './as-text.js'

const MOST_DIGITS = 15

/**
 * `number(text, decimalMark)`: the mark is "." or "," and is required, because 1.234 is ambiguous. The other mark, spaces and apostrophes
 * may group thousands; a currency sign or code, a trailing minus and (1.00) for minus are accepted. Empty gives null; text that is not a
 * number, or has more than 15 significant digits, is an error.
 */
export const number = (value, decimalMark) => {
  if (typeof value === 'number') return value
  if (decimalMark !== '.' && decimalMark !== ',') throw new TypeError('helpers.number needs the decimal mark: "." or ","')
  const text = filled(value, 'number')
  if (text === null) return null
  const refuse = () => new RangeError(`helpers.number: ${shown(text)} is not a number with the decimal mark ${decimalMark}`)
  if (text.length > LONGEST_WRITTEN) throw refuse()
  const bare = text.replace(/^([(+\-−]?)\s*(?:\p{Sc}|[A-Z]{3}\b)\s*/u, '$1').replace(/\s*(?:\p{Sc}|\b[A-Z]{3})(\)?)$/u, '$1')
  const signed = /^(\()?([+\-−])?\s*([^()]*?)\s*([-−])?(\))?$/.exec(bare)
  if (!signed || Boolean(signed[1]) !== Boolean(signed[5]) || [signed[1], signed[2], signed[4]].filter(Boolean).length > 1) throw refuse()
  const digits = plainDigits(signed[3], decimalMark)
  if (digits === null) throw refuse()
  if (digits.replace('.', '').replace(/^0+/, '').length > MOST_DIGITS)
    throw new RangeError(`helpers.number: ${shown(text)} has more than ${MOST_DIGITS} digits; keep it as text`)
  const amount = Number(digits)
  const minus = signed[1] || signed[4] || (signed[2] && signed[2] !== '+')
  return minus && amount !== 0 ? -amount : amount
}

/**
 * Removes the grouping: "1.234,50" becomes "1234.50". Groups have three digits, or two digits before a last group of three (1,00,000).
 * Returns null if the groups are invalid.
 */
const plainDigits = (text, decimalMark) => {
  const [whole, fraction, ...more] = text.split(decimalMark)
  if (more.length || (fraction !== undefined && !/^\d*$/.test(fraction)) || `${whole}${fraction ?? ''}` === '') return null
  const groups = whole.split(/[.,'’\s]/)
  const mark = /[.,'’\s]/.exec(whole)?.[0]
  const sameMark = mark === undefined || [...whole].every(sign => /\d/.test(sign) || sign === mark)
  const grouped = /^\d{1,3}$/.test(groups[0]) && groups.at(-1).length === 3 && groups.slice(1, -1).every(group => /^\d{2,3}$/.test(group))
  if (!sameMark || (groups.length > 1 ? !grouped : !/^\d*$/.test(whole)) || !/^[\d.,'’\s]*$/.test(whole)) return null
  if (groups.slice(1).some(group => !/^\d+$/.test(group))) return null
  return `${groups.join('') || '0'}${fraction ? `.${fraction}` : ''}`
}

/** `formatNumber(number, places, decimalMark = '.', group = '')`: rounded half away from zero, by its decimal digits. */
export const formatNumber = (value, places, decimalMark = '.', group = '') => {
  const written = typeof value === 'number' ? value : filled(value, 'formatNumber')
  if (written === null) return null
  const amount = typeof written === 'number' || /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written) ? Number(written) : Number.NaN
  if (!Number.isFinite(amount) || Math.abs(amount) >= 1e15) throw new RangeError('helpers.formatNumber takes a number below 10^15')
  if (!Number.isInteger(places) || places < 0 || places > 10) throw new RangeError('helpers.formatNumber takes 0 to 10 places')
  const rounded = roundText(Math.abs(amount), places)
  const [whole, fraction] = rounded.split('.')
  const minus = amount < 0 && /[1-9]/.test(rounded) ? '-' : ''
  return `${minus}${whole.replace(/\B(?=(\d{3})+$)/g, String(group))}${fraction ? `${decimalMark}${fraction}` : ''}`
}

/** Rounds a number by its shortest decimal text: 1.005 to two places is 1.01. */
const roundText = (amount, places) => {
  if (Number.isInteger(amount)) return amount.toFixed(places)
  const [mantissa, exponent = '0'] = String(amount).split('e')
  const shifted = Math.round(Number(`${mantissa}e${Number(exponent) + places}`))
  if (!Number.isSafeInteger(shifted)) throw new RangeError('helpers.formatNumber: the number has too many digits for so many places')
  return Number(`${shifted}e-${places}`).toFixed(places)
}
