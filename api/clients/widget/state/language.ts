import {type Area, knownLanguage, type Language, loadMessages, setLanguage} from '../text/language.ts'

const key = 'lading.language'

/** The languages of the widget, each by its own name. */
export const languageNames: Record<Language, string> = {en: 'English', de: 'Deutsch'}

/** Returns the language that the person chose in this browser. Null: the widget follows the browser. */
export const chosenLanguage = (): Language | null => knownLanguage(localStorage.getItem(key) ?? '')

/** Stores the choice, and reloads the page in that language. Null follows the browser. */
export const chooseLanguage = (language: Language | null): void => {
  if (language === null) localStorage.removeItem(key)
  else localStorage.setItem(key, language)
  location.reload()
}

/** The areas that every page shows. */
const commonAreas = ['shell', 'errors', 'rowReasons'] as const satisfies Area[]

/** Decides on the language, and loads the messages of every page and of `areas`. If they cannot be loaded, the widget works in English. */
export const startLanguage = async (areas: Area[] = []): Promise<void> => {
  const wanted = chosenLanguage() ?? navigator.languages.map(knownLanguage).find(language => language !== null) ?? 'en'
  if (wanted === 'en') return
  const german = await import('../text/de/areas.ts').catch(() => null)
  if (german === null) return
  setLanguage(wanted, german.areas)
  document.documentElement.lang = wanted
  await loadMessages([...commonAreas, ...areas])
}
