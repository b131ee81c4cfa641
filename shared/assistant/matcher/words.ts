/** Number of characters of a name that are read. A file may have names of any length, and the meaning is at the beginning. */
const longestName = 200

/** The words of a name, and the words in brackets, which are only hints. */
type Words = {words: string[]; hints: string[]}

const plainLetters: Record<string, string> = {ß: 'ss', ł: 'l', ø: 'o', đ: 'd', æ: 'ae', œ: 'oe', ı: 'i', þ: 'th', ð: 'd'}

/**
 * Splits a name into lower-case words without accents, and numbers. `BillingPostalCode`, `billing_postal_code` and `Billing: Postal-Code` give the
 * same words. `Straße` becomes `strasse`, `#` and `№` become `number`, `%` becomes `percent`.
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

/** Returns the common form of all spellings of a name. A name without letters and digits gives an empty text. */
export const normalForm = (name: string): string => {
  const {words, hints} = readWords(name)
  return [...words, ...hints].join(' ')
}
