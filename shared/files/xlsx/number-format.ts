/** How a date format displays a serial number. */
export type DateKind = 'date' | 'time' | 'moment' | 'duration'

/**
 * `percent` and `scaled`: the displayed number and the stored number have different values. `padded`: both numbers have the same value, but in
 * different characters.
 */
export type DisplayedNumber = {kind: 'number' | 'percent' | 'scaled' | 'padded'; text: string}

type Token = {type: 'literal' | 'place' | 'mark' | 'letter'; text: string}
type Condition = {operator: string; operand: number}
type Section = {
  tokens: Token[]
  condition: Condition | null
  date: DateKind | null
  /** Powers of ten by which the displayed number is multiplied: 2 for each `%`. */
  percent: number
  /** Powers of ten by which commas after the last digit place divide: 3 for each comma. */
  scale: number
  isMask: boolean
}

/**
 * `date`: the kind of the first section if that section displays dates; then every number is a date. `isPlain`: every number is displayed as stored,
 * apart from rounding, digit grouping and other characters such as currency signs.
 */
export type NumberFormat = {date: DateKind | null; sections: Section[]; isPlain: boolean}

const mostCharacters = 1_000
/** Parts of a format code, in this order: quoted text, escapes, widths and fills, brackets, marks of several characters, any other character. */
const lexemes = /"([^"]*)"?|\\(.)|_(.)|\*.|\[([^[\]]*)\]|general|am\/pm|a\/p|e[+-]|./gis

/** Parses a format code by ECMA-376 part 1, 18.8.31. Sections are separated by semicolons outside quotes. */
export const parseFormat = (code: string): NumberFormat => {
  const sections: Pick<Section, 'tokens' | 'condition'>[] = [{tokens: [], condition: null}]
  for (const match of code.slice(0, mostCharacters).matchAll(lexemes)) {
    if (match[0] === ';') sections.push({tokens: [], condition: null})
    else addToken(sections.at(-1)!, match)
  }
  const read = sections.slice(0, 4).map(describeSection)
  const isPlain = read.every(({date, percent, scale, isMask}) => !date && !percent && !scale && !isMask)
  return {date: read[0]!.date, sections: read, isPlain}
}

const addToken = (section: Pick<Section, 'tokens' | 'condition'>, [all, quoted, escaped, width, bracket]: RegExpExecArray) => {
  const {tokens} = section
  const text = all.toLowerCase()
  if (width !== undefined) tokens.push({type: 'literal', text: ' '})
  else if (quoted !== undefined || escaped !== undefined) tokens.push({type: 'literal', text: quoted ?? escaped!})
  else if (bracket !== undefined) addBracket(section, bracket)
  else if (/^[0#?]$/.test(text)) tokens.push({type: 'place', text})
  else if (/^e[+-]$/.test(text)) tokens.push({type: /[0#?.]/.test(tokens.at(-1)?.text ?? '') ? 'mark' : 'letter', text})
  else if (/^([.,%/@]|general)$/.test(text)) tokens.push({type: 'mark', text})
  else if (/^([ymdhsgbe]|am\/pm|a\/p)$/.test(text)) tokens.push({type: 'letter', text})
  else if (!text.startsWith('*')) tokens.push({type: 'literal', text: all})
}

/** `[$€-407]` is a currency, `[<=100]` a condition, `[h]` an elapsed time. Colours and other brackets display nothing. */
const addBracket = (section: Pick<Section, 'tokens' | 'condition'>, content: string) => {
  const [, operator, operand] = /^([<>=]{1,2})\s*(-?\d+(?:\.\d+)?)$/.exec(content) ?? []
  if (operator) section.condition = {operator, operand: Number(operand)}
  else if (content.startsWith('$')) section.tokens.push({type: 'literal', text: content.slice(1).split('-')[0]!})
  else if (/^(h+|m+|s+)$/i.test(content)) section.tokens.push({type: 'letter', text: `[${content.toLowerCase()}]`})
}

const describeSection = ({tokens, condition}: Pick<Section, 'tokens' | 'condition'>): Section => {
  const date = dateKindOf(tokens)
  const marks = tokens.filter(({type}) => type === 'mark').map(({text}) => text)
  const hasNumber = marks.includes('general') || tokens.some(({type}) => type === 'place')
  const percent = hasNumber ? 2 * marks.filter(text => text === '%').length : 0
  const scale = 3 * countScalingCommas(tokens)
  return {tokens, condition, date, percent, scale, isMask: !date && !percent && !scale && isMask(tokens, marks)}
}

const dateKindOf = (tokens: Token[]): DateKind | null => {
  const letters = tokens
    .filter(({type}) => type === 'letter')
    .map(({text}) => text)
    .join('')
  if (/\[(h+|m+|s+)\]/.test(letters)) return 'duration'
  const bare = letters.replace(/am\/pm|a\/p/g, '')
  const time = bare !== letters || /[hs]/.test(bare)
  const date = /[ydg]/.test(bare) || (!time && /m/.test(bare))
  return date && time ? 'moment' : date ? 'date' : time ? 'time' : null
}

/**
 * Counts the commas that divide by 1,000. Such a comma follows a digit place, with no digit place between the comma and the point or the end. Other
 * commas group digits.
 */
const countScalingCommas = (tokens: Token[]) => {
  const isPlace = ({type}: Token) => type === 'place'
  return tokens.filter(({type, text}, at) => {
    if (type !== 'mark' || text !== ',' || !tokens.slice(0, at).some(isPlace)) return false
    const next = tokens.slice(at + 1).find(token => isPlace(token) || token.text === '.')
    return !next || !isPlace(next)
  }).length
}

/**
 * Whether the format displays a fixed pattern of digits: padded with zeros (`00000`, `0####`), or separated by characters that do not group digits
 * (`000-00-0000`).
 */
const isMask = (tokens: Token[], marks: string[]) => {
  if (marks.some(text => text !== '.' && text !== ',')) return false
  const whole = integerPart(tokens)
  const places = whole.flatMap(({type}, at) => (type === 'place' ? [at] : []))
  const inside = whole.slice(places[0] ?? 0, places.at(-1) ?? 0)
  return inside.some(token => isZero(token) || partsDigits(token))
}

const integerPart = (tokens: Token[]) => {
  const point = tokens.findIndex(({type, text}) => type === 'mark' && text === '.')
  return point < 0 ? tokens : tokens.slice(0, point)
}
const isZero = ({type, text}: Token) => type === 'place' && text === '0'
const partsDigits = ({type, text}: Token) => type === 'literal' && /[^\s'\u2019.,]/.test(text)

/** Without a fourth section, the last section is for texts if it has an `@`. The earlier sections then are for all numbers. */
const numericSections = (sections: Section[]) =>
  sections.length > 1 && sections.at(-1)!.tokens.some(({type, text}) => type === 'mark' && text === '@') ? sections.slice(0, -1) : sections

export const sectionFor = (format: NumberFormat, value: number): Section => {
  const sections = numericSections(format.sections)
  const [first, second = first, third = second] = sections as [Section, Section?, Section?]
  if (first.condition || second.condition) {
    if (first.condition && meets(first.condition, value)) return first
    if (second.condition && meets(second.condition, value)) return second
    return first.condition && second.condition ? third : second
  }
  if (sections.length < 3) return value < 0 ? second : first
  return value > 0 ? first : value < 0 ? second : third
}

const meets = ({operator, operand}: Condition, value: number) =>
  (operator.includes('=') && value === operand) ||
  (operator === '<>' ? value !== operand : (operator.startsWith('<') && value < operand) || (operator.startsWith('>') && value > operand))

const decimal = /^([+-]?)(\d+)(?:\.(\d+))?$/

/**
 * Returns a number as its format displays it, but never rounds to the format's decimal places. A digit pattern with too few decimal places returns
 * the number as stored.
 */
export const displayNumber = (format: NumberFormat, digits: string): DisplayedNumber => {
  const [, sign, whole, fraction = ''] = decimal.exec(digits) ?? []
  if (whole === undefined) return {kind: 'number', text: digits}
  const section = sectionFor(format, Number(digits))
  const {percent, scale} = section
  if (percent || scale) return {kind: scale ? 'scaled' : 'percent', text: shift({sign: sign!, whole, fraction}, percent - scale)}
  const text = section.isMask ? fillMask(section.tokens, whole, fraction) : null
  if (text === null) return {kind: 'number', text: digits}
  // The section for negative numbers contains its sign already.
  const isSigned = sign === '-' && !(format.sections.length > 1 && section === format.sections[1] && !section.condition)
  const filled = isSigned ? `-${text}` : text
  return {kind: filled === digits ? 'number' : 'padded', text: filled}
}

/**
 * The number of significant digits that spreadsheet programs show. Further digits are the error of a binary fraction, such as
 * 7.0000000000000007E-2 for 7 %.
 */
const significantDigits = 15

const shift = ({sign, whole, fraction}: {sign: string; whole: string; fraction: string}, by: number) => {
  const digits = `${whole}${fraction}`
  const first = digits.search(/[1-9]/)
  if (first < 0) return '0'
  const kept = BigInt(digits.slice(0, first + significantDigits)) + (digits.charAt(first + significantDigits) >= '5' ? 1n : 0n)
  const zeros = Math.max(0, digits.length - first - significantDigits)
  const point = fraction.length - by - zeros
  const text = point > 0 ? String(kept).padStart(point + 1, '0') : `${kept}${'0'.repeat(-point)}`
  const decimals = point > 0 ? withoutZeros(text.slice(-point)) : ''
  const moved = point > 0 ? `${text.slice(0, -point)}${decimals && `.${decimals}`}` : text
  return sign === '-' ? `-${moved}` : moved
}

const withoutZeros = (decimals: string) => decimals.replace(/(?<!0)0+$/, '')

/** Fills the places with digits from the right; surplus digits go to the first place. Returns null if there are too few decimal places. */
const fillMask = (tokens: Token[], whole: string, fraction: string): string | null => {
  const integers = integerPart(tokens)
  const behind = tokens.slice(integers.length + 1)
  const decimals = withoutZeros(fraction)
  if (decimals.length > behind.filter(({type}) => type === 'place').length) return null
  let digits = whole.replace(/^0+/, '')
  let text = ''
  const firstPlace = integers.findIndex(({type}) => type === 'place')
  for (const [at, token] of [...integers.entries()].reverse()) {
    if (token.type === 'literal') text = token.text + text
    if (token.type !== 'place') continue
    text = (digits.slice(-1) || (token.text === '0' ? '0' : '')) + text
    digits = digits.slice(0, -1)
    if (at === firstPlace) text = digits + text
  }
  let [used, shown, tail] = [0, '', '']
  for (const token of behind) {
    if (token.type === 'literal') tail += token.text
    else if (token.type === 'place') shown += decimals[used++] ?? (token.text === '0' ? '0' : '')
  }
  return `${text}${shown && `.${shown}`}${tail}`.trim()
}
