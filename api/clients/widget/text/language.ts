export type Language = 'en' | 'de'
/** What a message is filled with. */
export type Part = string | number | null | undefined

type Loaders = typeof import('./de/areas.ts').areas
/** The name of an area: a group of messages that one file of this folder holds. */
export type Area = keyof Loaders
type Translations = {[A in Area]?: Awaited<ReturnType<Loaders[A]>>}

let current: Language = 'en'
let loaders: Loaders | null = null
const translations: Translations = {}

/** Sets the language and the loaders of its messages. Null: English, which needs no loading. */
export const setLanguage = (language: Language, messages: Loaders | null): void => {
  current = language
  loaders = messages
}

/**
 * Loads the messages of areas. Call it before any module with their messages is imported, because modules read their messages when they are
 * evaluated. An area that cannot be loaded stays English.
 */
export const loadMessages = async (areas: readonly Area[]): Promise<void> => {
  const missing = loaders === null ? [] : areas.filter(area => !translations[area])
  await Promise.all(missing.map(area => loadArea(area).catch(() => {})))
}

const loadArea = async <A extends Area>(area: A): Promise<void> => {
  translations[area] = (await loaders![area]()) as Translations[A]
}

/** Returns the messages of an area in the current language. */
export const translate = <T>(area: Area, english: T): T => (translations[area] as T | undefined) ?? english

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
