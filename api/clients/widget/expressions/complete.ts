import {t} from '../text/shell.ts'

/** A helper or library function. `call`: how it is called, such as `trim(text)`. */
type KnownFunction = {name: string; call: string; description: string}
export type KnownWords = {
  columns: readonly string[]
  hasValue: boolean
  helpers: readonly KnownFunction[]
  libraries: readonly {namespace: string; functions: readonly KnownFunction[]}[]
}

/** A suggestion. `text` replaces the characters from `from` to `to` of its `Completion`. */
export type Suggestion = {text: string; label: string; detail: string}
export type Completion = {from: number; to: number; suggestions: Suggestion[]}

const mostSuggestions = 8

/** Returns suggestions for the unfinished cell, member or word before the caret. A word inside quotes gets none. */
export const completeAt = (source: string, caret: number, known: KnownWords): Completion => {
  const before = source.slice(0, caret)
  const cell = cellBefore(before)
  if (cell) return {from: cell.from, to: caret + closingAfter(source, caret), suggestions: pick(cellsOf(known), cell.typed)}
  const from = wordStart(before)
  const word = before.slice(from)
  if (before[from - 1] === '.') {
    const object = wordStart(before.slice(0, from - 1))
    return {from: object, to: caret, suggestions: pick(membersOf(before.slice(object, from - 1), known), word)}
  }
  if (!/^[A-Za-z_$]/.test(word) || isInText(before)) return {from: caret, to: caret, suggestions: []}
  const all = [...wordsOf(known), ...cellsOf(known), ...known.helpers.map(one => suggestCall('helpers', one))]
  return {from, to: caret, suggestions: pick(all, word)}
}

/** Returns an unfinished cell at the end of the text, such as `row['Fir`, or null. */
const cellBefore = (before: string): {from: number; typed: string} | null => {
  const from = before.lastIndexOf('row[')
  const typed = before
    .slice(from + 'row['.length)
    .trimStart()
    .replace(/^['"]/, '')
  return from < 0 || /['"[\]]/.test(typed) ? null : {from, typed}
}

const wordStart = (text: string): number => {
  let at = text.length
  while (at > 0 && /[\w$]/.test(text[at - 1]!)) at--
  return at
}

/** Returns the expression for the cell of a column: `row['First name']`. */
export const cellOf = (column: string): string => `row['${column.replaceAll(/['\\]/g, '\\$&')}']`

const cellsOf = ({columns}: KnownWords): Suggestion[] => columns.map(name => ({text: cellOf(name), label: name, detail: t.column}))

const membersOf = (name: string, known: KnownWords): Suggestion[] => {
  if (name === 'row') return cellsOf(known)
  if (name === 'helpers') return known.helpers.map(one => suggestCall('helpers', one))
  return known.libraries.find(({namespace}) => namespace === name)?.functions.map(one => suggestCall(name, one)) ?? []
}

const suggestCall = (namespace: string, {name, call, description}: KnownFunction): Suggestion => ({
  text: `${namespace}.${name}(`,
  label: call,
  detail: description,
})

const wordsOf = ({hasValue, libraries}: KnownWords): Suggestion[] => [
  ...(hasValue ? [{text: 'value', label: 'value', detail: t.theCellOfTheColumn}] : []),
  {text: 'row', label: 'row', detail: t.theCellsOfTheRow},
  {text: 'helpers.', label: 'helpers', detail: t.builtInFunctions},
  {text: 'context', label: 'context', detail: t.valuesFromTheSettings},
  ...libraries.map(({namespace}) => ({text: `${namespace}.`, label: namespace, detail: t.library})),
]

/**
 * Returns at most 8 suggestions whose label contains the typed text. Labels that begin with the text come first. A suggestion that is typed in full
 * is left out.
 */
const pick = (all: Suggestion[], typed: string): Suggestion[] => {
  const wanted = typed.toLowerCase()
  const fits = all.filter(({label, text}) => label.toLowerCase().includes(wanted) && text !== typed)
  const starts = ({label}: Suggestion) => (label.toLowerCase().startsWith(wanted) ? 0 : 1)
  return fits.toSorted((a, b) => starts(a) - starts(b)).slice(0, mostSuggestions)
}

/** Returns how many characters right after the caret close a cell, such as `']`. The suggestion replaces them too. */
const closingAfter = (source: string, caret: number): number => /^['"]?\]?/.exec(source.slice(caret))![0].length

/** Whether the caret is inside quotes: an odd number of double or of single quotes precedes it. */
const isInText = (before: string): boolean => ['"', "'"].some(quote => before.split(quote).length % 2 === 0)
