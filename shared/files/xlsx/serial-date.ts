import type {DateKind} from './number-format.ts'

const dayMs = 86_400_000
/** Serial number of 9999-12-31 by epoch. */
const lastDay = {1900: 2_958_465, 1904: 2_957_003}

/**
 * Converts a serial number to ISO 8601. A duration becomes hours, minutes and seconds. A number below 1 becomes a time if its kind is `time`, or if
 * it is above 0 in the epoch 1900. A `date` at midnight has no time; any other number gives date and time. Null: past the year 9999, below 0 except
 * for durations, and on days 0 and 60 of the epoch 1900, which do not exist.
 */
export const isoOf = (serial: number, kind: DateKind, epoch: 1900 | 1904): string | null => {
  if (Math.abs(serial) >= lastDay[epoch] + 1) return null
  const ms = wholeSeconds(Math.round(Math.abs(serial) * dayMs))
  if (kind === 'duration') return serial < 0 && ms > 0 ? `-${clock(ms)}` : clock(ms)
  if (serial < 0) return null
  if (ms < dayMs && (kind === 'time' || (epoch === 1900 && ms > 0))) return clock(ms)
  const day = dayOf(Math.floor(ms / dayMs), epoch)
  if (day === null) return null
  return ms % dayMs === 0 && kind === 'date' ? day : `${day}T${clock(ms % dayMs)}`
}

/** Rounds to the nearest whole second if it is at most 5 ms away, because programs store serial numbers with as few as nine digits. */
const wholeSeconds = (ms: number) => {
  const off = ms % 1000
  return off <= 5 ? ms - off : off >= 995 ? ms + 1000 - off : ms
}

const clock = (ms: number) => {
  const two = (n: number) => String(n).padStart(2, '0')
  const fraction = ms % 1000 ? `.${String(ms % 1000).padStart(3, '0')}` : ''
  const seconds = Math.floor(ms / 1000)
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${fraction}`
}

const dayOf = (day: number, epoch: 1900 | 1904) => {
  if (epoch === 1900 && (day === 0 || day === 60)) return null
  if (day > lastDay[epoch]) return null
  const from = epoch === 1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, day < 60 ? 31 : 30)
  return new Date(from + day * dayMs).toISOString().slice(0, 10)
}
