import {type Area, knownLanguage, type Language, loadMessages, setLanguage} from '../text/language.ts'

const key = 'lading.language'

export const languageNames: Record<Language, string> = {en: 'English', de: 'Deutsch'}

/** Returns the language that the person chose in this browser. Null: the browser's languages decide. */
export const chosenLanguage = (): Language | null => knownLanguage(localStorage.getItem(key) ?? '')

/** Stores the language, and reloads the page in it. Null: the browser's languages decide. */
export const chooseLanguage = (language: Language | null): void => {
  if (language === null) localStorage.removeItem(key)
  else localStorage.setItem(key, language)
  location.reload()
}

/** The areas whose messages every page shows. */
const commonAreas = ['shell', 'errors', 'rowReasons'] as const satisfies Area[]

/**
 * Sets the language, and loads the messages of the common areas and of `areas`. If the German message list cannot be loaded, the widget works in
 * English.
 */
export const startLanguage = async (areas: Area[] = []): Promise<void> => {
  const wanted = chosenLanguage() ?? navigator.languages.map(knownLanguage).find(language => language !== null) ?? 'en'
  if (wanted === 'en') return
  const german = await import('../text/de/areas.ts').catch(() => null)
  if (german === null) return
  setLanguage(wanted, german.areas)
  document.documentElement.lang = wanted
  await loadMessages([...commonAreas, ...areas])
}
