import {signal} from '@preact/signals'
import {usualDateFormat, writeDay} from '../../date-text.ts'
import {currentLocale} from '../text/language.ts'

/** The date format of the org. */
export const dateFormat = signal(usualDateFormat)

let formats: {whole: Intl.NumberFormat; clock: Intl.DateTimeFormat} | undefined

/** Creates the formats on first use, because message files import this file before the language is known. */
const readFormats = () => {
  formats ??= {
    whole: new Intl.NumberFormat(currentLocale(), {maximumFractionDigits: 0}),
    clock: new Intl.DateTimeFormat(currentLocale(), {timeStyle: 'short'}),
  }
  return formats
}

export const count = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : readFormats().whole.format(value)

/** Formats a number with its noun. `plural(3, 'row')` returns "3 rows". */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${readFormats().whole.format(value)} ${value === 1 ? one : many}`

/** Formats a rate with one decimal below ten, else as a whole number. */
export const rate = (value: number): string =>
  value < 10 ? new Intl.NumberFormat(currentLocale(), {minimumFractionDigits: 1, maximumFractionDigits: 1}).format(value) : count(value)

export const percent = (part: number): string =>
  new Intl.NumberFormat(currentLocale(), {style: 'percent', maximumFractionDigits: 0}).format(part)

/** Formats a share that is compared with another one: with up to two decimals, or with two digits if it is smaller. */
export const exactPercent = (part: number): string => {
  const digits = {maximumFractionDigits: 2, maximumSignificantDigits: 2, roundingPriority: 'morePrecision'} as const
  return new Intl.NumberFormat(currentLocale(), {style: 'percent', ...digits}).format(part)
}

/** Formats the share of `total` that is done. It is rounded down, so that only a whole is 100 %. */
export const percentDone = (done: number, total: number): string => percent(Math.floor((100 * done) / Math.max(1, total)) / 100)

/** Formats an ISO 8601 time in local time, with the date format of the org. */
export const at = (iso: string | null | undefined): string => (iso ? `${onDay(iso)}, ${readFormats().clock.format(new Date(iso))}` : '–')
export const onDay = (iso: string | null | undefined): string => (iso ? writeDay(new Date(iso), dateFormat.value) : '–')

/** Formats an ISO 8601 time in the given time zone, with the date format of the org. */
export const atIn = (iso: string, timeZone: string): string =>
  `${writeDay(new Date(iso), dateFormat.value, timeZone)}, ${new Intl.DateTimeFormat(currentLocale(), {timeStyle: 'short', timeZone}).format(new Date(iso))}`

/** Formats a size in powers of 1000, as the command line does. */
export const bytes = (value: number): string => {
  const step = Math.min(4, Math.floor(Math.log10(Math.max(value, 1)) / 3))
  const shown = value / 1000 ** step
  return `${new Intl.NumberFormat(currentLocale(), {maximumFractionDigits: step === 0 || shown >= 100 ? 0 : 1}).format(shown)} ${['B', 'kB', 'MB', 'GB', 'TB'][step]}`
}

/** Formats a duration: "45 s", "3 min 20 s", "2 h 5 min". */
export const duration = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min${seconds % 60 ? ` ${seconds % 60} s` : ''}`
  return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ''}`
}

/** The decimals of the payment provider's amounts, which differ from those of `Intl`. A test compares this copy with `notice-text.ts`. */
const withoutDecimals = /^(?:bif|clp|djf|gnf|jpy|kmf|krw|mga|pyg|rwf|vnd|vuv|xaf|xof|xpf)$/i
const withThreeDecimals = /^(?:bhd|jod|kwd|omr|tnd)$/i

export const decimalsOf = (currency: string): number => {
  if (withoutDecimals.test(currency)) return 0
  return withThreeDecimals.test(currency) ? 3 : 2
}

/** Formats an amount of money. `amount` counts the smallest unit of the currency, such as cents. Decimals that `Intl` leaves out appear if not 0. */
export const money = (amount: number, currency: string): string => {
  const digits = decimalsOf(currency)
  return new Intl.NumberFormat(currentLocale(), {style: 'currency', currency, maximumFractionDigits: digits}).format(amount / 10 ** digits)
}
