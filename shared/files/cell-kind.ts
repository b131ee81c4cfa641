import {readNamedDate} from './named-date.ts'

export type CellKind = 'integer' | 'decimal' | 'boolean' | 'date' | 'email' | 'url' | 'phone' | 'text'
export type DateOrder = 'dmy' | 'mdy' | 'ymd'
/** What a cell looks like: its kind, and facts that are needed to read the cell as this kind. */
type CellLook = {
  kind: CellKind
  leadingZeros?: boolean
  beyond53?: boolean
  mark?: 'point' | 'comma' | 'ambiguous'
  /** A text that an amount field reads as a number, such as `$900`. */
  amount?: true
  order?: DateOrder | 'ambiguous'
  /** A date in numbers with a year of two digits, which is read only with a stated format. It proves no order. */
  shortYear?: true
}

const known = {
  text: {kind: 'text'},
  boolean: {kind: 'boolean'},
  email: {kind: 'email'},
  url: {kind: 'url'},
  phone: {kind: 'phone'},
  integer: {kind: 'integer'},
  zeroInteger: {kind: 'integer', leadingZeros: true},
  bigInteger: {kind: 'integer', beyond53: true},
  zeroBigInteger: {kind: 'integer', leadingZeros: true, beyond53: true},
  pointInteger: {kind: 'integer', mark: 'point'},
  commaInteger: {kind: 'integer', mark: 'comma'},
  point: {kind: 'decimal', mark: 'point'},
  comma: {kind: 'decimal', mark: 'comma'},
  eitherMark: {kind: 'decimal', mark: 'ambiguous'},
  amount: {kind: 'text', amount: true},
  pointAmount: {kind: 'text', mark: 'point', amount: true},
  commaAmount: {kind: 'text', mark: 'comma', amount: true},
  eitherAmount: {kind: 'text', mark: 'ambiguous', amount: true},
  date: {kind: 'date'},
  dmy: {kind: 'date', order: 'dmy'},
  mdy: {kind: 'date', order: 'mdy'},
  ymd: {kind: 'date', order: 'ymd'},
  eitherOrder: {kind: 'date', order: 'ambiguous'},
  shortYear: {kind: 'date', shortYear: true},
} satisfies Record<string, CellLook>

/** Lists every look a cell can have. `lookOf` returns an index into this list. */
export const looks: CellLook[] = Object.values(known)
const look = Object.fromEntries(Object.keys(known).map((name, index) => [name, index])) as Record<keyof typeof known, number>

const [digit, letter, sign, mark, slash, blank, bracket, at, colon, other] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] as const
const classes = new Uint16Array(128).fill(other)
const assign = (characters: string, value: number) => {
  for (const character of characters) classes[character.charCodeAt(0)] = value
}
assign('0123456789', digit)
assign('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', letter)
assign('+-', sign)
assign('.,', mark)
assign('/', slash)
assign(" '", blank)
assign('()', bracket)
assign('@', at)
assign(':', colon)

const longestLooked = 64
const booleans = new Set('true false yes no y n on off ja nein oui non si sí no vrai faux wahr falsch verdadero falso sim não x'.split(' '))
const mailShape = /^[^\s@]+@[^\s@]+\.[^\s@.]{2,}$/
const urlShape = /^(https?:\/\/|www\.)\S+$/i
const dateShape = /^(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:[ T]\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?( ?[AP]M)?( ?Z| ?[+-]\d\d:?\d\d)?)?$/i
const phoneShape = /^\+?[\d ().\-/]+$/
const addressShape = /^\d{1,3}(\.\d{1,3}){3}$/
const groupedShape = /^[+-]?\d{1,3}(?:([., '])\d{3})(?:\1\d{3})*(?:([.,])\d+)?$/
const decimalShape = /^[+-]?(\d*)([.,])(\d+)$/
const largest = String(Number.MAX_SAFE_INTEGER)

/**
 * Returns the index of a cell's look, ignoring surrounding blanks. The cell must not be blank. One pass over its characters decides which
 * patterns are tried.
 */
export const lookOf = (cell: string): number => {
  const value = isBlank(cell.charCodeAt(0)) || isBlank(cell.charCodeAt(cell.length - 1)) ? cell.trim() : cell
  if (value.length > longestLooked) return longLook(value)
  let seen = 0
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index)
    seen |= code < 128 ? classes[code]! : other
  }
  if (seen === digit) return digitsLook(value)
  if (seen & at) return mailShape.test(value) ? look.email : look.text
  if (!(seen & digit))
    return seen & (mark | slash) && urlShape.test(value) ? look.url : booleans.has(value.toLowerCase()) ? look.boolean : look.text
  if (seen & (letter | colon | other)) {
    const asOther = seen & letter ? urlLook(value) : amountLook(value)
    return dateLook(value) ?? namedDateLook(value) ?? asOther ?? look.text
  }
  return numberLook(value) ?? dateLook(value) ?? phoneLook(value) ?? look.text
}

const isBlank = (code: number) => code <= 32 || code === 160

const longLook = (value: string) => {
  if (urlShape.test(value)) return look.url
  return value.length <= 254 && value.includes('@') && mailShape.test(value) ? look.email : look.text
}

const digitsLook = (digits: string) => {
  const zeros = digits.length > 1 && digits.charCodeAt(0) === 48
  if (digits.length < largest.length) return zeros ? look.zeroInteger : look.integer
  const bare = zeros ? digits.replace(/^0+/, '') : digits
  const big = bare.length > largest.length || (bare.length === largest.length && bare > largest)
  return zeros ? (big ? look.zeroBigInteger : look.zeroInteger) : big ? look.bigInteger : look.integer
}

const numberLook = (value: string) => {
  if (/^[+-]\d+$/.test(value)) return value[0] === '+' && value.length > 8 ? look.phone : digitsLook(value.slice(1))
  const [, whole, sign, fraction] = decimalShape.exec(value) ?? []
  if (sign && whole !== undefined && fraction) {
    if (fraction.length === 3 && whole.length > 0 && whole.length < 4 && whole[0] !== '0') return look.eitherMark
    return sign === '.' ? look.point : look.comma
  }
  const [, group, decimal] = groupedShape.exec(value) ?? []
  if (!group || group === decimal || /^[+-]?0/.test(value)) return
  if (decimal) return decimal === '.' ? look.point : look.comma
  return group === ',' ? look.pointInteger : group === '.' ? look.commaInteger : look.integer
}

const urlLook = (value: string) => (urlShape.test(value) ? look.url : undefined)

const amountLooks = {none: look.amount, point: look.pointAmount, comma: look.commaAmount, ambiguous: look.eitherAmount}

/** A number with a currency or percent sign, or with no-break spaces between its digits. */
const amountLook = (value: string) => {
  const unsigned = value.replace(/^[\p{Sc}%]|[\p{Sc}%]$/u, '').trim()
  const number = unsigned.replace(/[\u00a0\u2009\u202f]/g, ' ').replaceAll('\u2019', "'")
  if (/^\d+$/.test(number)) return look.amount
  const found = numberLook(number)
  return found === undefined || found === look.phone ? undefined : amountLooks[looks[found]!.mark ?? 'none']
}

/** A date proves its order if it is valid in that order only. `05/05/2024` is the same date in both orders and proves nothing. */
const dateLook = (value: string) => {
  const [, first, separator, second, third] = dateShape.exec(value) ?? []
  if (!first || !second || !third) return
  const [a, b, c] = [Number(first), Number(second), Number(third)]
  if (first.length === 4) return third.length <= 2 && isMonth(b) && isDay(c) ? look.ymd : undefined
  if (first.length > 2 || (third.length !== 2 && third.length !== 4)) return
  const [asDmy, asMdy] = [isDay(a) && isMonth(b), isMonth(a) && isDay(b)]
  if (third.length === 2) return asDmy || asMdy || (separator === '-' && isMonth(b) && isDay(c)) ? look.shortYear : undefined
  if (asDmy && asMdy) return a === b ? look.date : look.eitherOrder
  return asDmy ? look.dmy : asMdy ? look.mdy : undefined
}

/** A date with the name of a month proves no order of the column. */
const namedDateLook = (value: string) => {
  const named = readNamedDate(value)
  return named && isDay(named.day) ? look.date : undefined
}

const isMonth = (n: number) => n >= 1 && n <= 12
const isDay = (n: number) => n >= 1 && n <= 31

const phoneLook = (value: string) => {
  if (!phoneShape.test(value) || addressShape.test(value)) return
  const digits = value.replace(/\D/g, '').length
  return digits >= 7 && digits <= 15 ? look.phone : undefined
}
