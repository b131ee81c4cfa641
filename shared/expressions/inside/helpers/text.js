import {asText, filled, strip} from './as-text.js'

/** `trim(text)`: NFC, without blanks at both ends (no-break and zero-width ones too). Null stays null. */
export const trim = value => {
  const text = asText(value, 'trim')
  return text === null ? null : strip(text.normalize('NFC'))
}

/** `collapse(text)`: trimmed, with each sequence of blanks inside replaced by one space. */
export const collapse = value => {
  const text = trim(value)
  return text === null ? null : text.split(/[\s\u200b\u2060]+/).join(' ')
}

/** `upper(text)`: JÜRGEN. */
export const upper = value => asText(value, 'upper')?.toUpperCase() ?? null

/** `lower(text)`: jürgen. */
export const lower = value => asText(value, 'lower')?.toLowerCase() ?? null

/** `sentence(text)`: the first letter in upper case, the rest in lower case. */
export const sentence = value => {
  const text = filled(value, 'sentence')
  return text === null ? null : largeFirst(text.toLowerCase())
}

/**
 * `title(text, asWritten = [])`: every word capitalised, after a hyphen or an apostrophe too (Jean-Luc, O'Neil, but Don't); particles in
 * lower case unless they come first (Ludwig van Beethoven). Words of `asWritten` keep their spelling: `['GmbH', 'IBM']`.
 */
export const title = (value, asWritten = []) => {
  const text = filled(value, 'title')
  if (text === null) return null
  const fixed = new Map(asWritten.map(word => [String(word).toLowerCase(), String(word)]))
  return text
    .toLowerCase()
    .split(/(\s+)/)
    .map((word, at) => fixed.get(word) ?? (at > 0 && PARTICLES.has(word) ? word : word.split('-').map(largeWord).join('-')))
    .join('')
}

/**
 * Capitalises a word and its parts after apostrophes. A single letter there is an ending (don't, anna's); more letters are a name (o'neil,
 * d'artagnan).
 */
const largeWord = word => {
  const parts = word.split(/(['’])/)
  return parts.map((part, at) => (at > 0 && [...part].length < 2 ? part : largeFirst(part))).join('')
}

/** Capitalises the first letter, which may follow other characters: (acme) becomes (Acme). */
const largeFirst = text => {
  const at = text.search(/[\p{L}\p{N}]/u)
  if (at < 0) return text
  const [first] = text.slice(at)
  const whole = String.fromCodePoint(text.codePointAt(at))
  return `${text.slice(0, at)}${(whole.length > first.length ? whole : first).toUpperCase()}${text.slice(at + whole.length)}`
}

const words = text => new Set(text.split(' '))
const PARTICLES = words(
  'af al auf av bin da das de del della den der des di do dos du e el ibn la las le los of ten ter van vom von y zu zum zur',
)
const PREFIXES = words('mr mrs ms mx miss dr prof sir dame herr frau hr fr mme mlle m sr sra srta ing mag dipl.-ing')
const SUFFIXES = words('jr sr ii iii iv v phd md mba esq ph.d m.d')

/**
 * `splitName(text)`: `{prefix, first, middle, last, suffix}`, each text or null. Accepts "First Middle Last" and "Last, First Middle";
 * particles belong to the last name; a single word is a last name. A guess by form, so check unusual names.
 */
export const splitName = value => {
  const text = collapse(filled(value, 'splitName'))
  if (text === null) return {prefix: null, first: null, middle: null, last: null, suffix: null}
  const parts = text.split(/\s*,\s*/).filter(Boolean)
  const endings = []
  while (parts.length > 1 && isIn(SUFFIXES, parts.at(-1))) endings.unshift(parts.pop())
  const turned = parts.length > 1
  const given = (turned ? parts.slice(1).join(' ') : (parts[0] ?? '')).split(' ').filter(Boolean)
  const prefix = []
  while (given.length > (turned ? 0 : 1) && isIn(PREFIXES, given[0])) prefix.push(given.shift())
  while (given.length > (turned ? 0 : 2) && isIn(SUFFIXES, given.at(-1))) endings.unshift(given.pop())
  const last = turned ? parts[0] : takeLast(given)
  const [first, ...middle] = given
  return {prefix: joined(prefix), first: first ?? null, middle: joined(middle), last: last || null, suffix: joined(endings)}
}

/** Takes the last word and the particles before it. A particle at the very beginning is a first name (Van Morrison). */
const takeLast = given => {
  let from = given.length - 1
  while (from > 1 && PARTICLES.has(given[from - 1].toLowerCase())) from--
  return given.splice(Math.max(from, 0)).join(' ')
}

const isIn = (set, word) => set.has(word.toLowerCase().replace(/\.$/, ''))
const joined = list => (list.length ? list.join(' ') : null)
