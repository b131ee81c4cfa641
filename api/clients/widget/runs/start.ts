import {t} from '../text/decide.ts'
/** The typed values of the start form. An empty value means the default. */
export type Draft = {from: string; to: string; most: string; write?: string}
export const noDraft: Draft = {from: '', to: '', most: ''}

export type StartBody = {rows?: {from?: number; to?: number}; declaredRows?: number; write?: string}
type Problems = Partial<Record<keyof Draft, string>>

export const draftOf = ({from, to, most, write}: Draft): {body: StartBody; problems: Problems} => {
  const [first, last, declared] = [readWhole(from), readWhole(to), readWhole(most)]
  const problems: Problems = {}
  const wrong = t.enterAWholeNumberFrom1Or
  if (first === null) problems.from = wrong
  if (last === null) problems.to = wrong
  if (declared === null) problems.most = wrong
  if (first && last && first > last) problems.to = t.enterARowFrom(first)
  const rows = {...(first && {from: first}), ...(last && {to: last})}
  const body = {...(Object.keys(rows).length > 0 && {rows}), ...(declared && {declaredRows: declared}), ...(write && {write})}
  return {body, problems}
}

/** Parses a whole number from 1. Returns undefined for an empty text, null for an invalid one. Thousands separators are ignored. */
const readWhole = (text: string): number | null | undefined => {
  const digits = text.trim().replace(/(?<=\d)[\s.,'’](?=\d{3})/g, '')
  if (digits === '') return undefined
  const value = Number(digits)
  return /^\d{1,10}$/.test(digits) && value >= 1 ? value : null
}

/** Returns an upper bound of the rows in a range, because excluded rows (`struck`) can be inside or outside the range. */
export const rowsIn = ({rows, struck}: {rows: number; struck: number}, {from = 1, to = rows}: {from?: number; to?: number} = {}): number =>
  Math.min(rows - struck, Math.max(0, Math.min(to, rows) - from + 1))

type Room = {limits: {rowsPerRun: number}; usage: {rows: {remaining: number}}; overageEnabled: boolean}

/** Compares the rows of an import with the plan. `isCut`: a run cannot write all rows. `isBilled`: a run would write rows beyond the plan. */
export const excessOf = ({limits: {rowsPerRun}, usage, overageEnabled}: Room, rows: number): {isCut: boolean; isBilled: boolean} => {
  const {remaining} = usage.rows
  return {
    isCut: rows > rowsPerRun || (rows > remaining && !overageEnabled),
    isBilled: overageEnabled && Math.min(rows, rowsPerRun) > remaining,
  }
}
