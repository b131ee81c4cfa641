import type {Figure, Measure} from './figures.ts'

/** Formats the limit of a figure. Returns null if the figure has none. */
export const limitOf = ({atLeast, atMost}: Figure): string | null => {
  if (atLeast !== undefined) return `>= ${atLeast.toFixed(2)}`
  return atMost === undefined ? null : `<= ${atMost.toFixed(atMost < 100 ? 2 : 0)}`
}

export const isMissed = ({atLeast, atMost}: Figure, value: number): boolean =>
  (atLeast !== undefined && !(value >= atLeast)) || (atMost !== undefined && !(value <= atMost))

const [valueWidth, limitWidth] = [9, 8]

/** Formats the line of a figure: its value, its limit, `MISSED` if it misses the limit, its name and what it divides. */
export const lineOf = (name: string, figure: Figure, value: number, nameWidth: number): string =>
  [
    shown(value).padStart(valueWidth),
    (limitOf(figure) ?? '').padEnd(limitWidth),
    isMissed(figure, value) ? 'MISSED' : '      ',
    name.padEnd(nameWidth),
    figure.about,
  ].join('  ')

/** Formats the lines of a measure. The subject comes first if it differs from the one before. */
export const linesOf = ({subject, figures}: Measure, found: Record<string, number>, before: string | null, nameWidth: number): string[] => [
  ...(subject === before ? [] : ['', subject]),
  ...Object.entries(figures).map(([name, figure]) => lineOf(name, figure, found[name]!, nameWidth)),
]

/** Formats a number with three digits. From 100 it is a whole number with all its digits. */
const shown = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : value >= 1 ? 2 : 3))
