/** Reads the date at the start of a cell such as `03/04/2024` in the given order, as `2024-04-03`. Null if it is no date with a year of four digits. */
export const readDay = (cell: string, order: 'dmy' | 'mdy'): string | null => {
  const [, first, , second, year] = /^\s*(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?!\d)/.exec(cell) ?? []
  if (!first || !second) return null
  const [day, month] = order === 'dmy' ? [first, second] : [second, first]
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  const made = new Date(`${iso}T00:00:00Z`)
  return Number.isNaN(made.getTime()) || made.toISOString().slice(0, 10) !== iso ? null : iso
}

/** Returns the samples that are another date in each order. */
export const listAmbiguousDates = (samples: readonly string[]): string[] =>
  samples.filter(sample => {
    const [dmy, mdy] = [readDay(sample, 'dmy'), readDay(sample, 'mdy')]
    return dmy !== null && mdy !== null && dmy !== mdy
  })
