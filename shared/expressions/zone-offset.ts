const MOST_ZONES = 50
const formats = new Map<string, Intl.DateTimeFormat | null>()

/**
 * Minutes a zone's clock is ahead of UTC at a moment; null for a zone nobody knows. The one thing of the host's that helpers ask for:
 * QuickJS has no time zones, and Node's ICU has the IANA table. A pure function of its two arguments and Node's build.
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

/** An offset such as +02:00 is no zone: it knows no summer. */
export const isZone = (zone: string) => /^[A-Za-z]/.test(zone) && zoneOffset(zone, 0) !== null

/** `+01:00`, as ISO 8601 writes it. */
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
      ...{timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23', era: 'short'},
      ...{year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric'},
    })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
