const MOST_ZONES = 50
const formats = new Map<string, Intl.DateTimeFormat | null>()

/**
 * Returns a zone's offset from UTC in minutes at a moment, or null for an unknown zone. This is the helpers' only host function: QuickJS has no time
 * zones, and Node's ICU has the IANA table. The result depends only on the arguments and on Node's build.
 */
export const zoneOffset = (zone: string, moment: number): number | null => {
  const format = formatOf(zone)
  if (!format || !Number.isFinite(moment) || Math.abs(moment) > 8.64e15) return null
  const parts = Object.fromEntries(format.formatToParts(moment).map(({type, value}) => [type, value]))
  const year = parts.era === 'BC' ? 1 - Number(parts.year) : Number(parts.year)
  const local = new Date(0)
  local.setUTCFullYear(year, Number(parts.month) - 1, Number(parts.day))
  local.setUTCHours(Number(parts.hour), Number(parts.minute), Number(parts.second))
  return Math.round((local.getTime() - Math.floor(moment / 1000) * 1000) / 60_000)
}

/** Whether the name is a time zone. A fixed offset such as +02:00 is not a time zone, because it has no daylight saving time. */
export const isZone = (zone: string) => /^[A-Za-z]/.test(zone) && zoneOffset(zone, 0) !== null

/** Writes an offset as in ISO 8601: `+01:00`. */
export const writeOffset = (minutes: number) => {
  const ahead = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(ahead / 60))}:${two(ahead % 60)}`
}

const two = (number: number) => String(number).padStart(2, '0')

const formatOf = (zone: string) => {
  const known = formats.get(zone)
  if (known !== undefined) return known
  if (formats.size >= MOST_ZONES) formats.clear()
  const format = openFormat(zone)
  formats.set(zone, format)
  return format
}

const openFormat = (timeZone: string) => {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
