export type Language = 'en' | 'de'
export type Part = string | number | null | undefined

type Loaders = typeof import('./de/areas.ts').areas
/** The name of an area. One file of this folder contains the messages of one area. */
export type Area = keyof Loaders
type Translations = {[A in Area]?: Awaited<ReturnType<Loaders[A]>>}

let current: Language = 'en'
let loaders: Loaders | null = null
const translations: Translations = {}

/** Sets the language and the loaders of its messages. `messages` is null for English. */
export const setLanguage = (language: Language, messages: Loaders | null): void => {
  current = language
  loaders = messages
}

/**
 * Loads the messages of the areas. Call it before importing any module that uses them, because modules read their messages when they are
 * evaluated. An area that cannot be loaded stays English.
 */
export const loadMessages = async (areas: readonly Area[]): Promise<void> => {
  const missing = loaders === null ? [] : areas.filter(area => !translations[area])
  await Promise.all(missing.map(area => loadArea(area).catch(() => {})))
}

const loadArea = async <A extends Area>(area: A): Promise<void> => {
  translations[area] = (await loaders![area]()) as Translations[A]
}

export const translate = <T>(area: Area, english: T): T => (translations[area] as T | undefined) ?? english

/** Returns the language of a tag such as "de-AT". Null if the widget has no messages in that language. */
export const knownLanguage = (tag: string): Language | null => {
  const [primary = ''] = tag.toLowerCase().split('-')
  return primary === 'en' || primary === 'de' ? primary : null
}

/**
 * Returns the locale for dates, numbers and lists: the browser's first locale of the current language, such as `en-GB`, else the language
 * itself.
 */
export const currentLocale = (): string => navigator.languages.find(tag => knownLanguage(tag) === current) ?? current

/** Joins words as the current language does: "a, b and c". */
export const listWords = (words: string[], type: 'conjunction' | 'disjunction' = 'conjunction'): string =>
  new Intl.ListFormat(currentLocale(), {type}).format(words)

/** Returns a label for the middle of a sentence, with its first letter in lower case. The other letters do not change. */
export const inSentence = (label: string): string => label.charAt(0).toLowerCase() + label.slice(1)
