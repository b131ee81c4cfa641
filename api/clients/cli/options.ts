import {InvalidArgumentError} from 'commander'

/** An option's value that is a whole number above zero. */
export const wholeNumber = (given: string): number => {
  const value = Number(given.replaceAll(/[_,]/g, ''))
  if (Number.isInteger(value) && value > 0) return value
  throw new InvalidArgumentError('It is a whole number above zero.')
}

/** Rows by their numbers in the file: `100-200`, `100-`, `-200`, `7`. */
export const rowRange = (given: string): {from?: number; to?: number} => {
  const [, from, dash, to] = /^(\d*)(-?)(\d*)$/.exec(given.trim()) ?? []
  if (from === undefined || (!from && !to)) throw new InvalidArgumentError('Rows are numbers such as 1-100, 500- or 7.')
  const range = dash ? {...(from && {from: Number(from)}), ...(to && {to: Number(to)})} : {from: Number(from), to: Number(from)}
  const {from: first = 1, to: last = first} = range
  if (first < 1 || last < first) throw new InvalidArgumentError('Rows begin with 1, and the last is not before the first.')
  return range
}

/** Many at once are asked for page by page. */
export const limitUsual = 50
