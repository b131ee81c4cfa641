export type Language = 'en' | 'de'
/** What a message is filled with. */
export type Part = string | number | null | undefined

type Translations = Partial<typeof import('./de/all.ts')>

let current: Language = 'en'
let translations: Translations = {}

/** Sets the language. Call it before any module with messages is imported, because modules read their messages when they are evaluated. */
export const setLanguage = (language: Language, messages: Translations): void => {
  current = language
  translations = messages
}

/** Returns the messages of an area in the current language. */
export const translate = <T>(area: keyof Translations, english: T): T => (translations[area] as T | undefined) ?? english

/** Returns the language of a language tag such as "de-AT". Null: the widget does not have it. */
export const knownLanguage = (tag: string): Language | null => {
  const [primary = ''] = tag.toLowerCase().split('-')
  return primary === 'en' || primary === 'de' ? primary : null
}

/** The locale of dates, numbers and lists: the browser's, if its language is the current one. */
export const currentLocale = (): string => navigator.languages.find(tag => knownLanguage(tag) === current) ?? current

/** Joins words as the language does: "a, b and c". */
export const listWords = (words: string[], type: 'conjunction' | 'disjunction' = 'conjunction'): string =>
  new Intl.ListFormat(currentLocale(), {type}).format(words)

/** Returns a label as a part of a sentence. Only its first letter changes, because nouns of other languages keep theirs. */
export const inSentence = (label: string): string => label.charAt(0).toLowerCase() + label.slice(1)
