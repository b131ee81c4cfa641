import {asText, filled, shown} from './as-text.js'

const MOST_PARTS = 10_000

/** `split(text, separator = ',', at?)`: the trimmed parts as a list; with `at` only that part (-1 is the last), null if there is none. */
export const split = (value, separator = ',', at) => {
  const text = asText(value, 'split')
  if (text === null) return at === undefined ? [] : null
  if (typeof separator !== 'string' || separator === '') throw new TypeError('helpers.split needs a separator, "," for instance')
  const parts = text.split(separator, MOST_PARTS + 1).map(part => part.trim())
  if (parts.length > MOST_PARTS) throw new RangeError(`helpers.split makes at most ${MOST_PARTS} parts`)
  return at === undefined ? parts : (parts.at(at) ?? null)
}

/** `join(list, separator = ', ')`: the values that are not empty, in one text. */
export const join = (list, separator = ', ') => {
  if (!Array.isArray(list)) throw new TypeError('helpers.join takes a list: [row.street, row.city]')
  if (list.length > MOST_PARTS) throw new RangeError(`helpers.join takes at most ${MOST_PARTS} parts`)
  return list
    .map(part => filled(part, 'join'))
    .filter(Boolean)
    .join(String(separator))
}

/** `coalesce(a, b, …)`: the first that is neither null nor blank text; null when none is. */
export const coalesce = (...values) => {
  for (const value of values) if (value !== null && value !== undefined && !(typeof value === 'string' && value.trim() === '')) return value
  return null
}

/**
 * `lookup(value, table, otherwise?)`: the table's entry for the value, exact or else trimmed and in any case. If not found: `otherwise` if
 * given, else an error, so that a new value in the file is not lost.
 */
export const lookup = (value, table, ...otherwise) => {
  if (typeof table !== 'object' || table === null) throw new TypeError('helpers.lookup takes a table: {DE: "Germany"}')
  const text = filled(value, 'lookup')
  if (text === null) return otherwise.length ? otherwise[0] : null
  const exact = asText(value, 'lookup')
  if (Object.hasOwn(table, exact)) return table[exact]
  const folded = fold(text)
  const keys = Object.keys(table)
  if (keys.length > MOST_PARTS) throw new RangeError(`helpers.lookup takes at most ${MOST_PARTS} entries`)
  const key = keys.find(name => fold(name) === folded)
  if (key !== undefined) return table[key]
  if (otherwise.length) return otherwise[0]
  throw new RangeError(`helpers.lookup: ${shown(text)} is not in the table. Add it, or pass a third value as the default`)
}

const fold = text => text.normalize('NFC').trim().toLowerCase()

const YES = new Set('1 y yes true t on x ja j wahr oui o vrai si sí s verdadero vero sim verdadeiro waar ✓ ✔'.split(' '))
const NO = new Set('0 n no false f off - nein falsch non faux falso não nao nee onwaar ✗ ✘'.split(' '))

/**
 * `bool(text, {yes, no}?)`: true or false from words in seven languages, or from your lists. Empty gives null; any other word is an error.
 */
export const bool = (value, {yes, no} = {}) => {
  if (typeof value === 'boolean') return value
  const text = filled(value, 'bool')?.toLowerCase() ?? null
  if (text === null) return null
  const isIn = words => words?.some(word => fold(String(word)) === text)
  if (isIn(yes)) return true
  if (isIn(no)) return false
  if (!yes && YES.has(text)) return true
  if (!no && NO.has(text)) return false
  throw new RangeError(`helpers.bool: ${shown(text)} is neither yes nor no. Pass your own words: {yes: [...], no: [...]}`)
}

const LONGEST_SEARCHED = 20_000
const LONGEST_PATTERN = 500
const MOST_REPLACED = 10_000

/**
 * `replace(text, pattern, replacement, flags = 'g')`: a regular expression over at most 20,000 characters and 10,000 matches. A repetition
 * inside a repetition, `(a+)+`, and a back reference are refused, because they may never end. `$1` is the first group.
 */
export const replace = (value, pattern, replacement, flags = 'g') => {
  const text = asText(value, 'replace')
  if (text === null) return null
  if (text.length > LONGEST_SEARCHED) throw new RangeError(`helpers.replace takes at most ${LONGEST_SEARCHED} characters`)
  const source = pattern instanceof RegExp ? pattern.source : String(pattern)
  if (source.length > LONGEST_PATTERN) throw new RangeError(`helpers.replace takes a pattern of at most ${LONGEST_PATTERN} characters`)
  refuseSlow(source)
  const regex = new RegExp(source, pattern instanceof RegExp ? pattern.flags : flags)
  if (typeof replacement === 'function') throw new TypeError('helpers.replace takes a text as the replacement')
  let steps = 0
  return text.replace(regex, (...found) => {
    if (++steps > MOST_REPLACED) throw new RangeError(`helpers.replace replaces at most ${MOST_REPLACED} places`)
    return expand(String(replacement), found)
  })
}

/** As in JavaScript, a number without a group in the pattern is text, so `$50` can be a price. The first number of `found` is the offset. */
const expand = (template, found) => {
  const groups = found.findIndex(one => typeof one === 'number') - 1
  const isGroup = digits => Number(digits) >= 1 && Number(digits) <= groups
  return template.replace(/\$(\$|&|\d{1,2})/g, (whole, name) => {
    if (name === '$') return '$'
    if (name === '&') return found[0]
    if (isGroup(name)) return found[Number(name)] ?? ''
    return isGroup(name[0]) ? (found[Number(name[0])] ?? '') + name.slice(1) : whole
  })
}

/**
 * Refuses a pattern with a repetition inside a repetition. Scans the pattern once and tracks for each open group whether it contains an
 * unbounded repetition.
 */
const refuseSlow = source => {
  const open = [false]
  for (let at = 0; at < source.length; at++) {
    const sign = source[at]
    if (sign === '\\') {
      if (/[1-9k]/.test(source[at + 1] ?? '')) throw new RangeError('helpers.replace takes no back references')
      at++
    } else if (sign === '[') {
      while (++at < source.length && source[at] !== ']') if (source[at] === '\\') at++
    } else if (sign === '(') open.push(false)
    else if (sign === ')') {
      const repeats = open.pop() ?? false
      if (repeats && isRepeated(source, at + 1))
        throw new RangeError('helpers.replace takes no repetition inside a repetition, such as (a+)+')
      open[open.length - 1] ||= repeats || isRepeated(source, at + 1)
    } else if (isRepeated(source, at)) open[open.length - 1] = true
  }
}

/** Whether an unbounded or large repetition follows, such as `*`, `+`, `{3,}` or `{3,1000}`. `?` and counts up to 10 do not count. */
const isRepeated = (source, at) => {
  if (source[at] === '*' || source[at] === '+') return true
  const counted = /^\{(\d+)(,(\d*))?\}/.exec(source.slice(at, at + 20))
  return counted !== null && Number(counted[3] === '' ? Infinity : (counted[3] ?? counted[1])) > 10
}
