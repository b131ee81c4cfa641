import {knownLanguage, type Language, setLanguage} from '../text/language.ts'

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

/** Decides on the language and loads its messages. If they cannot be loaded, the widget works in English. */
export const startLanguage = async (): Promise<void> => {
  const wanted = chosenLanguage() ?? navigator.languages.map(knownLanguage).find(language => language !== null) ?? 'en'
  const messages = wanted === 'en' ? {} : await import('../text/de/all.ts').catch(() => null)
  if (messages === null) return
  setLanguage(wanted, messages)
  document.documentElement.lang = wanted
}
