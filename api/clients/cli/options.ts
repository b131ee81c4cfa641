import {InvalidArgumentError} from 'commander'

/** Parses a positive whole number. The digits may contain `_` and `,`. */
export const wholeNumber = (given: string): number => {
  const value = Number(given.replaceAll(/[_,]/g, ''))
  if (Number.isInteger(value) && value > 0) return value
  throw new InvalidArgumentError('Use a positive whole number.')
}

/** Parses a range of row numbers: `100-200`, `100-`, `-200`, `7`. */
export const rowRange = (given: string): {from?: number; to?: number} => {
  const [, from, dash, to] = /^(\d*)(-?)(\d*)$/.exec(given.trim()) ?? []
  if (from === undefined || (!from && !to)) throw new InvalidArgumentError('Use row numbers such as 1-100, 500- or 7.')
  const range = dash ? {...(from && {from: Number(from)}), ...(to && {to: Number(to)})} : {from: Number(from), to: Number(from)}
  const {from: first = 1, to: last = first} = range
  if (first < 1 || last < first) throw new InvalidArgumentError('Row numbers start at 1, and the last must not be before the first.')
  return range
}
