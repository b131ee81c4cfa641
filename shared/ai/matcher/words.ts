/** Longer names are cut: what says something comes first, and a file may call a column anything. */
const longestName = 200

/** What a name says: its words, and those in brackets, which only hint. */
type Words = {words: string[]; hints: string[]}

const plainLetters: Record<string, string> = {ß: 'ss', ł: 'l', ø: 'o', đ: 'd', æ: 'ae', œ: 'oe', ı: 'i', þ: 'th', ð: 'd'}

/**
 * A name as words in small plain letters and numbers: `BillingPostalCode`, `billing_postal_code` and `Billing: Postal-Code` are the same,
 * and so are `Straße` and `STRASSE`. `#` and `№` are `number`, `%` is `percent`.
 */
export const readWords = (name: string): Words => {
  const spaced = name
    .slice(0, longestName)
    .replace(/n[°º]|№/giu, ' number ')
    .normalize('NFKC')
    .replace(/#/g, ' number ')
    .replace(/%/g, ' percent ')
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
  const hints: string[] = []
  const outside = spaced.replace(/[([{]([^()[\]{}]*)[)\]}]/g, (_, inside: string) => {
    hints.push(...split(inside))
    return ' '
  })
  return {words: split(outside), hints}
}

const split = (text: string): string[] =>
  foldLetters(text)
    .replace(/['’´`]s\b/g, ' ')
    .replace(/(\p{L})(\p{N})/gu, '$1 $2')
    .replace(/(\p{N})(\p{L})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)

const isPlain = (text: string) => /^[\x20-\x7e]*$/.test(text)

const foldLetters = (text: string): string => (isPlain(text) ? text.toLowerCase() : foldSigns(text))

const foldSigns = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[ßłøđæœıþð]/g, letter => plainLetters[letter]!)

/** One form of all spellings of a name; blank for a name without a letter or a digit. */
export const normalForm = (name: string): string => {
  const {words, hints} = readWords(name)
  return [...words, ...hints].join(' ')
}
