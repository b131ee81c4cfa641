export const usualDateFormat = 'yyyy-MM-dd'

type DateParts = {year: number; month: number; day: number}

/**
 * Writes the day of `date` in the date format of an org: d or dd for the day, M or MM for the month, yy or yyyy for the year. D means d, and Y
 * means y. Without `timeZone`, the time zone of this computer applies.
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
