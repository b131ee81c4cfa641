import type {Figure, Measure} from './figures.ts'

/** What is wanted of a figure, as the page says it. */
export const limitOf = ({atLeast, atMost}: Figure): string | null => {
  if (atLeast !== undefined) return `>= ${atLeast.toFixed(2)}`
  return atMost === undefined ? null : `<= ${atMost.toFixed(atMost < 100 ? 2 : 0)}`
}

export const isMissed = ({atLeast, atMost}: Figure, value: number): boolean =>
  (atLeast !== undefined && !(value >= atLeast)) || (atMost !== undefined && !(value <= atMost))

const [valueWidth, limitWidth] = [9, 8]

/** A figure's line: its value, what is wanted, a mark where it is missed, its name, what it divides. */
export const lineOf = (name: string, figure: Figure, value: number, nameWidth: number): string =>
  [
    shown(value).padStart(valueWidth),
    (limitOf(figure) ?? '').padEnd(limitWidth),
    isMissed(figure, value) ? 'MISSED' : '      ',
    name.padEnd(nameWidth),
    figure.about,
  ].join('  ')

/** A measure's lines, under its subject where it is another than before. */
export const linesOf = ({subject, figures}: Measure, found: Record<string, number>, before: string | null, nameWidth: number): string[] => [
  ...(subject === before ? [] : ['', subject]),
  ...Object.entries(figures).map(([name, figure]) => lineOf(name, figure, found[name]!, nameWidth)),
]

/** Three digits, or as many as a whole number has. */
const shown = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : value >= 1 ? 2 : 3))
