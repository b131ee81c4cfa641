/** The names and short names of months in the languages of `assistant/matcher`, by month. Compared without case, accents and points. */
const monthNames = [
  'january jan januar janner janvier janv enero ene gennaio gen janeiro januari styczen stycznia sty',
  'february feb februar feber fevrier fevr fev febrero febbraio fevereiro februari luty lutego lut',
  'march mar marz mrz mars marzo marco maart mrt marzec marca',
  'april apr avril avr abril abr aprile kwiecien kwietnia kwi',
  'may mai mayo maggio mag maio mei maj maja',
  'june jun juni juin junio giugno giu junho czerwiec czerwca cze',
  'july jul juli juillet juil julio luglio lug julho lipiec lipca lip',
  'august aug aout agosto ago augustus sierpien sierpnia sie',
  'september sep sept septembre septiembre setiembre settembre set setembro wrzesien wrzesnia wrz',
  'october oct oktober okt octobre octubre ottobre ott outubro out pazdziernik pazdziernika paz',
  'november nov novembre noviembre novembro listopad listopada lis',
  'december dec dezember dez decembre diciembre dic dicembre dezembro grudzien grudnia gru',
]
const months = new Map(monthNames.flatMap((names, at) => names.split(' ').map(name => [name, at + 1] as const)))

const time = String.raw`(?:,?[ T]+(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d))?)?`
const name = String.raw`(?<month>\p{L}{3,12})\.?`
const of = '(?:de |del |of )?'
const shapes = [
  String.raw`(?<day>\d{1,2})(?:\.|st|nd|rd|th|er|º)?[ ./-]+${of}${name}[ ./,-]+${of}(?<year>\d{4}|\d\d)`,
  String.raw`${name}[ -]+(?<day>\d{1,2})(?:st|nd|rd|th)?[ ,-]+(?<year>\d{4})`,
  String.raw`(?<year>\d{4})[ ./-]+${name}[ ./-]+(?<day>\d{1,2})`,
].map(shape => new RegExp(`^${shape}${time}$`, 'iu'))

/** The parts of a written date, which may be impossible, such as 31 February. `hour` is undefined if the text has no time. */
type NamedDate = {year: number; month: number; day: number; hour: string | undefined; minute: string; second: string}

/** A two-digit year below this number is in the 2000s, any other in the 1900s. Stated date formats read years in the same way. */
const pivot = 70
const longest = 64

/**
 * Reads a date whose month is a name, such as `3 March 2026`, `Mar 3, 2026`, `03-Mar-26` or `3. März 2026`. The name shows which number is
 * the day, so the order of the column does not matter. Returns null for any other text.
 */
export const readNamedDate = (text: string): NamedDate | null => {
  if (text.length > longest) return null
  for (const shape of shapes) {
    const {day, month: named, year, hour, minute = '0', second = '0'} = shape.exec(text)?.groups ?? {}
    const month = named && months.get(named.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase())
    if (!month) continue
    const full = Number(year) + (year!.length === 4 ? 0 : Number(year) < pivot ? 2000 : 1900)
    return {year: full, month, day: Number(day), hour, minute, second}
  }
  return null
}
