const offsets = new Map<string, Map<number, number>>()
const formats = new Map<string, Intl.DateTimeFormat>()
const slotMs = 15 * 60_000

/** Formats a time in the time zone, in whole seconds and with its offset: 2026-03-02T09:15:40+01:00. */
export const formatInstant = (ms: number, zone: string): string => {
  const offset = offsetMs(ms, zone)
  const minutes = Math.abs(offset) / 60_000
  const sign = offset < 0 ? '-' : '+'
  return `${new Date(ms + offset).toISOString().slice(0, 19)}${sign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** Reads a date-time with an offset, in ms. Returns null for any other text. */
export const parseInstant = (text: string): number | null => {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text)) return null
  if (!isDate(text.slice(0, 10))) return null
  const ms = Date.parse(text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'))
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000) * 1000
}

export const isDate = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

const offsetMs = (ms: number, zone: string): number => {
  const slot = Math.floor(ms / slotMs)
  let known = offsets.get(zone)
  if (!known) offsets.set(zone, (known = new Map()))
  let offset = known.get(slot)
  if (offset === undefined) known.set(slot, (offset = measureOffset(slot * slotMs, zone)))
  return offset
}

const measureOffset = (ms: number, zone: string): number => {
  let format = formats.get(zone)
  if (!format) formats.set(zone, (format = new Intl.DateTimeFormat('en-US', {timeZone: zone, timeZoneName: 'longOffset'})))
  const name = format.formatToParts(ms).find(part => part.type === 'timeZoneName')?.value ?? 'GMT'
  const [, sign, hours, minutes] = /GMT([+-])(\d{2}):(\d{2})/.exec(name) ?? []
  if (!sign) return 0
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

const two = (value: number) => String(value).padStart(2, '0')
