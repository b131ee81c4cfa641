/** What a person has typed: texts, empty where they leave it to us. */
export type Draft = {from: string; to: string; most: string}
export const noDraft: Draft = {from: '', to: '', most: ''}

export type StartBody = {rows?: {from?: number; to?: number}; declaredRows?: number}
type Problems = Partial<Record<keyof Draft, string>>

/** The request of it, or what is wrong with each field. */
export const draftOf = ({from, to, most}: Draft): {body: StartBody; problems: Problems} => {
  const [first, last, declared] = [readWhole(from), readWhole(to), readWhole(most)]
  const problems: Problems = {}
  const wrong = 'Type a whole number from 1, or nothing'
  if (first === null) problems.from = wrong
  if (last === null) problems.to = wrong
  if (declared === null) problems.most = wrong
  if (first && last && first > last) problems.to = `It is before row ${first}: the range would be empty`
  const rows = {...(first && {from: first}), ...(last && {to: last})}
  return {body: {...(Object.keys(rows).length > 0 && {rows}), ...(declared && {declaredRows: declared})}, problems}
}

/** Undefined where nothing is typed; null where it is no whole number from 1. Spaces, dots and commas between thousands are passed over. */
const readWhole = (text: string): number | null | undefined => {
  const digits = text.trim().replace(/(?<=\d)[\s.,'’](?=\d{3})/g, '')
  if (digits === '') return undefined
  const value = Number(digits)
  return /^\d{1,10}$/.test(digits) && value >= 1 ? value : null
}

/** Rows of a file that a run of these numbers reads, at most: which of the struck ones lie in the range is not known before. */
export const rowsIn = ({rows, struck}: {rows: number; struck: number}, {from = 1, to = rows}: {from?: number; to?: number} = {}): number =>
  Math.min(rows - struck, Math.max(0, Math.min(to, rows) - from + 1))
