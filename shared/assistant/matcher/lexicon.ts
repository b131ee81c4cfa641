import {company} from './lexicon/company.ts'
import {contact} from './lexicon/contact.ts'
import {date} from './lexicon/date.ts'
import {type Entries, LANGUAGES, type Language} from './lexicon/entries.ts'
import {goods} from './lexicon/goods.ts'
import {modifiers} from './lexicon/modifiers.ts'
import {person} from './lexicon/person.ts'
import {place} from './lexicon/place.ts'
import {record} from './lexicon/record.ts'
import {swedish} from './lexicon/swedish.ts'
import {trade} from './lexicon/trade.ts'
import {readWords} from './words.ts'

/** A meaning of a phrase. `languages` is a bit set in the order of LANGUAGES. */
export type Sense = {atoms: string[]; languages: number}

export const longestPhrase = 6
// Minimum length of a part of a German or Dutch compound. Shorter parts would occur in any word.
const shortestPart = 3

type Lexicon = {
  phrases: Map<string, Sense[]>
  fillers: Set<string>
  knownWords: Set<string>
  /**
   * For typing errors: maps each known word without one of its inner letters to the complete word. A form that fits several words maps to itself.
   * Only for words of six letters or more.
   */
  longerByOne: Map<string, string>
}

let made: Lexicon | null = null
/** Returns the lexicon, which is built on first use, because most processes never need it. */
const lexicon = (): Lexicon => {
  made ??= make()
  return made
}

const make = (): Lexicon => {
  const fillers = new Set<string>()
  for (const table of [modifiers, swedish]) eachPhrase({'-': table['-']!}, ([word]) => fillers.add(word!))
  const phrases = readPhrases(fillers)
  const knownWords = new Set([...phrases.keys()].flatMap(phrase => phrase.split(' ')))
  for (const word of [...knownWords]) if (word.length > 3) knownWords.add(`${word}s`)
  return {phrases, fillers, knownWords, longerByOne: shortenEach(knownWords)}
}

const tables = [person, contact, place, company, record, goods, trade, date, modifiers, swedish]

const readPhrases = (fillers: Set<string>) => {
  const phrases = new Map<string, Sense[]>()
  for (const table of tables) {
    eachPhrase(table, (words, key, language) => {
      if (key === '-') return
      addPhrase(phrases, words.join(' '), key, language)
      const bare = words.filter(word => !fillers.has(word))
      if (bare.length < words.length && bare.length > 1) addPhrase(phrases, bare.join(' '), key, language)
      const joined = words.join('')
      if (words.length > 1 && joined.length > 4) addPhrase(phrases, joined, key, language)
    })
  }
  return phrases
}

const eachPhrase = (entries: Entries, take: (words: string[], key: string, language: Language) => void) => {
  for (const [key, byLanguage] of Object.entries(entries)) {
    for (const [language, text] of Object.entries(byLanguage)) {
      for (const phrase of text.split(',')) take(readWords(phrase).words, key, language as Language)
    }
  }
}

const bitOf = (language: Language) => 1 << LANGUAGES.indexOf(language)

const addPhrase = (phrases: Lexicon['phrases'], phrase: string, key: string, language: Language) => {
  if (phrase === '') return
  const atoms = key.split('+')
  const senses = phrases.get(phrase) ?? []
  const same = senses.find(sense => sense.atoms.join('+') === key)
  if (same) same.languages |= bitOf(language)
  else senses.push({atoms, languages: bitOf(language)})
  phrases.set(phrase, senses)
}

const shortenEach = (knownWords: Set<string>) => {
  const longerByOne = new Map<string, string>()
  for (const word of knownWords) {
    if (word.length < 6) continue
    for (let at = 1; at < word.length - 1; at++) {
      const shorter = word.slice(0, at) + word.slice(at + 1)
      if (knownWords.has(shorter)) continue
      longerByOne.set(shorter, longerByOne.has(shorter) && longerByOne.get(shorter) !== word ? shorter : word)
    }
  }
  return longerByOne
}

/** Whether the word is a filler without meaning: `of`, `der`, `du`. */
export const isFiller = (word: string): boolean => lexicon().fillers.has(word)

export const sensesOf = (phrase: string): Sense[] | undefined => lexicon().phrases.get(phrase) ?? lexicon().phrases.get(singular(phrase))

const singular = (phrase: string) =>
  phrase.length < 5 ? phrase : phrase.endsWith('ies') ? `${phrase.slice(0, -3)}y` : phrase.endsWith('s') ? phrase.slice(0, -1) : phrase

/**
 * Splits an unknown word into two or three known words, such as `rechnungs|ort` or `billing|city`. Prefers the longest first word. Returns null
 * if no split exists.
 */
export const splitCompound = (word: string, most = 3): string[] | null => {
  if (word.length < 2 * shortestPart || word.length > 40) return null
  for (let at = word.length - shortestPart; at >= shortestPart; at--) {
    const [head, tail] = [word.slice(0, at), word.slice(at)]
    if (!isPart(head)) continue
    if (isPart(tail)) return [head, tail]
    const rest = most > 2 ? splitCompound(tail, most - 1) : null
    if (rest) return [head, ...rest]
  }
  return null
}

/**
 * Corrects an unknown word in which an inner letter is missing, or a letter is doubled or swapped with the next. Other errors are not corrected,
 * because many known words differ in one replaced letter (`state`, `stage`).
 */
export const correct = (word: string): string => {
  if (word.length < 4 || word.length > 20 || lexicon().knownWords.has(word) || splitCompound(word)) return word
  for (let at = 0; at < word.length - 1; at++) {
    if (word[at] === word[at + 1]) {
      const single = word.slice(0, at) + word.slice(at + 1)
      if (lexicon().knownWords.has(single)) return single
      continue
    }
    const swapped = word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2)
    if (lexicon().knownWords.has(swapped)) return swapped
  }
  return word.length < 5 ? word : (lexicon().longerByOne.get(word) ?? word)
}

const isPart = (part: string) => lexicon().phrases.has(part) && !lexicon().fillers.has(part)
