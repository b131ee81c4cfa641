export const usualDateFormat = 'yyyy-MM-dd'

type DateParts = {year: number; month: number; day: number}

/**
 * Writes the day of a time in the date format of an org: day (d, dd), month (M, MM) and year (yy, yyyy), D and Y also as capitals. The day is that of
 * the time zone, or else of this computer.
 */
export const writeDay = (date: Date, format: string = usualDateFormat, timeZone?: string): string => {
  const {year, month, day} = partsOf(date, timeZone)
  return format.replaceAll(/d+|D+|M+|y+|Y+/g, token => {
    if (/[yY]/.test(token)) return String(year).slice(-token.length)
    return String(token[0] === 'M' ? month : day).padStart(token.length, '0')
  })
}

const partsOf = (date: Date, timeZone: string | undefined): DateParts => {
  if (timeZone === undefined) return {year: date.getFullYear(), month: date.getMonth() + 1, day: date.getDate()}
  const parts = new Intl.DateTimeFormat('en', {timeZone, year: 'numeric', month: 'numeric', day: 'numeric'}).formatToParts(date)
  const part = (name: string) => Number(parts.find(({type}) => type === name)!.value)
  return {year: part('year'), month: part('month'), day: part('day')}
}
