import {writeDay} from '../date-text.ts'

const number = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0})

export const count = (value: number) => number.format(value)

export const plural = (many: number, one: string, more = `${one}s`) => `${count(many)} ${many === 1 ? one : more}`

/** Readable words for outcomes with a code that users would not understand. The widget uses the same words. */
const OUTCOMES: Record<string, string> = {
  planned: 'would be written',
  inherited: 'already written',
  filtered: 'filtered out',
  unanswered: 'without answer',
}

export const describeOutcome = (outcome: string, rows: number) => `${count(rows)} ${OUTCOMES[outcome] ?? outcome}`

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB']

/** Formats a size as `4.2 MB`, in powers of 1000. */
export const size = (bytes: number) => {
  const step = bytes < 1000 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** step
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZES[step]}`
}

/** Formats a duration as `0:07`, `12:30` or `2:05:00`. */
export const duration = (seconds: number) => {
  const whole = Math.max(0, Math.round(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  const two = (part: number) => String(part).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`
}

/** Formats a time as `2026-11-20 18:04`, in the date format of the org and, without `timeZone`, in local time. Returns a dash for null. */
export const moment = (iso: string | null | undefined, {dateFormat, timeZone}: {dateFormat?: string; timeZone?: string} = {}) => {
  if (!iso) return '-'
  const at = new Date(iso)
  const clock = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', ...(timeZone && {timeZone})})
  return `${writeDay(at, dateFormat, timeZone)} ${clock.format(at)}`
}

/**
 * Makes text of files, the server or the CRM safe for a terminal: one line, without control characters, escape sequences or bidirectional
 * marks.
 */
export const clean = (text: unknown) =>
  String(text ?? '')
    .replaceAll(/\s+/g, ' ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
