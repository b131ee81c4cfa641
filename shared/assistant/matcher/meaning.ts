import {LANGUAGES} from './lexicon/entries.ts'
import {correct, isFiller, longestPhrase, type Sense, sensesOf, splitCompound} from './lexicon.ts'
import {readWords} from './words.ts'

/**
 * The meaning of a name. `about`: the property, such as `city`, of a kind in `kinds`, such as `billing`. `of`: the subjects, such as `company`.
 * `nth`: the number in the name, such as 2 in `Phone 2`; 0 without one. `rest`: the unknown words.
 */
type Meaning = {about: string; kinds: string[]; of: string[]; nth: number; rest: string[]}

/** A possible meaning of a name. `weight` is its likelihood, 0 to 1. */
export type NameReading = Meaning & {weight: number}

/**
 * Facts from all names of a file or module, which decide ambiguous words such as `Nom` or `Estado`. A flag is set if at least one name has that
 * meaning. `place`: a part of an address. `person`: the records are people. `languages`: bits of the languages with the most unambiguous words, or
 * 0. `spoken`: bits of all likely languages and English, or 0 if there are too few words.
 */
export type Neighbours = {
  firstname: boolean
  lastname: boolean
  jobtitle: boolean
  source: boolean
  owner: boolean
  stage: boolean
  place: boolean
  person: boolean
  languages: number
  spoken: number
}

const mostReadings = 8
const otherLanguage = 0.9
/**
 * Factor for a word of a language that the file does not use, because the word probably means something else. English occurs in every file.
 */
const foreignWord = 0.6
const english = 1 << LANGUAGES.indexOf('en')
/** Minimum number of unambiguous words in one language. With fewer, `spoken` is 0. */
const fewestWords = 4

/** For a general meaning, the exact meanings that imply it. In `mobile phone`, `mobile` implies `phone`, so `phone` is dropped. */
const saidBy: Record<string, string[]> = {
  address: ['street', 'housenumber', 'city', 'state', 'zip', 'country', 'pobox', 'addressextra', 'district', 'website', 'email'],
  phone: ['mobile', 'fax', 'pager', 'otherline'],
  location: ['city', 'state', 'country', 'zip', 'street', 'address', 'latitude', 'longitude', 'timezone'],
  website: ['linkedin', 'twitter', 'facebook', 'instagram', 'photo', 'email'],
  email: ['optout', 'optin'],
  name: [
    'assistant',
    'manager',
    'skype',
    'department',
    'city',
    'country',
    'state',
    'category',
    'industry',
    'pipeline',
    'owner',
    'source',
    'manufacturer',
    'brand',
    'stage',
    'status',
    'campaign',
    'street',
    'pricebook',
  ],
  total: ['stock'],
  amount: [
    'price',
    'discount',
    'tax',
    'revenue',
    'commission',
    'total',
    'subtotal',
    'stock',
    'reorder',
    'freight',
    'email',
    'phone',
    'mobile',
    'fax',
    'website',
    'address',
  ],
  rate: ['discount', 'tax', 'commission', 'probability'],
  quantity: ['stock', 'reorder', 'demand', 'ordered', 'employees'],
  code: ['state', 'country', 'zip', 'currency', 'department'],
  date: ['closedate', 'duedate', 'birthdate', 'createdtime', 'modifiedtime', 'startdate', 'enddate'],
  jobtitle: ['salutation'],
  type: ['category'],
  number: [
    'phone',
    'mobile',
    'fax',
    'pager',
    'otherline',
    'housenumber',
    'employees',
    'quantity',
    'code',
    'serial',
    'taxid',
    'bank',
    'ordernumber',
    'invoicenumber',
    'purchaseorder',
    'accountnumber',
    'siccode',
  ],
}

type PartialReading = {atoms: string[]; nth: number[]; rest: string[]; weight: number}

/**
 * Returns the possible meanings of a name, most likely first, at most eight. The neighbours decide the meaning of ambiguous words. Without known
 * words, `about` is empty.
 */
export const readMeanings = (name: string, neighbours: Neighbours): NameReading[] => {
  const {words: written, hints} = readWords(name)
  const words = written.map(word => correct(word))
  const weight = words.some((word, at) => word !== written[at]) ? 0.88 : 1
  let partials: PartialReading[] = [{atoms: [], nth: [], rest: [], weight}]
  const known = readWordList(words, partials, neighbours)
  // In brackets, an owner or kind such as `(Work)`, or a digit, adds to the meaning. Other words in brackets only lower the weight, unless
  // the name has no words outside brackets.
  partials = readHints(hints, known, neighbours, words.length === 0)
  const readings = partials.flatMap(one => settle(one, neighbours))
  return readings.sort((a, b) => b.weight - a.weight).slice(0, mostReadings)
}

const readWordList = (words: string[], begun: PartialReading[], neighbours: Neighbours): PartialReading[] => {
  let partials = begun
  for (let at = 0; at < words.length; ) {
    const [senses, taken] = longestAt(words, at)
    if (senses) {
      partials = spread(partials, senses, neighbours)
      at += taken
      continue
    }
    partials = readWord(words[at]!, partials, neighbours)
    at++
  }
  return partials
}

const readHints = (hints: string[], partials: PartialReading[], neighbours: Neighbours, alone: boolean): PartialReading[] => {
  if (hints.length === 0) return partials
  if (alone) return readWordList(hints, partials, neighbours)
  const [senses, taken] = longestAt(hints, 0)
  if (senses && taken === hints.length && senses.every(({atoms}) => atoms.every(atom => atom[0] === '~'))) {
    return spread(partials, senses, neighbours)
  }
  if (hints.every(hint => /^\d$/.test(hint))) return partials.map(one => ({...one, nth: [...one.nth, Number(hints[0])]}))
  return partials.map(one => ({...one, weight: one.weight * 0.93}))
}

/** Finds the longest known phrase that begins at this word. If needed, stop words inside the phrase are ignored. */
const longestAt = (words: string[], at: number): [Sense[] | undefined, number] => {
  for (let length = Math.min(longestPhrase, words.length - at); length > 0; length--) {
    const window = words.slice(at, at + length)
    const senses = sensesOf(window.join(' ')) ?? (length === 1 || startsPhrase(words, at + 1) ? undefined : inAnyOrder(window))
    if (senses) return [senses, length]
    if (length < 3) continue
    const bare = window.filter((word, index) => index === 0 || !isFiller(word))
    if (bare.length === length || bare.length < 2) continue
    const found = sensesOf(bare.join(' '))
    if (found) return [found, length]
  }
  return [undefined, 1]
}

/** Whether a known phrase of two words begins at this word: in `address postal code`, `postal` belongs to `code`, not to `address`. */
const startsPhrase = (words: string[], at: number) => words.length > at + 1 && sensesOf(`${words[at]} ${words[at + 1]}`) !== undefined

/** Returns the meanings of the words in reverse order (`price net`) or joined (`Mw St`). */
const inAnyOrder = (words: string[]) =>
  (words.length === 2 ? sensesOf(`${words[1]} ${words[0]}`) : undefined) ?? (words.length < 4 ? sensesOf(words.join('')) : undefined)

const readWord = (word: string, partials: PartialReading[], neighbours: Neighbours): PartialReading[] => {
  if (/^\d{1,2}$/.test(word)) return partials.map(one => ({...one, nth: [...one.nth, Number(word)]}))
  if (isFiller(word)) return partials
  const parts = splitCompound(word)
  if (parts) return parts.reduce((all, part) => spread(all, sensesOf(part)!, neighbours), partials)
  return partials.map(one => ({...one, rest: [...one.rest, word]}))
}

/** Combines each reading with each sense. Senses in the file's languages get more weight. */
const spread = (partials: PartialReading[], senses: Sense[], {languages, spoken}: Neighbours): PartialReading[] => {
  const [sense] = senses
  if (sense && senses.length === 1) {
    const weight = spoken === 0 || sense.languages & spoken ? 1 : foreignWord
    return partials.map(one => ({...one, atoms: [...one.atoms, ...sense.atoms], weight: one.weight * weight}))
  }
  const own = languages === 0 || !senses.some(sense => sense.languages & languages) ? -1 : languages
  return partials
    .flatMap(one =>
      senses.map(sense => ({
        ...one,
        atoms: [...one.atoms, ...sense.atoms],
        weight: one.weight * (sense.languages & own ? 1 : spoken !== 0 && !(sense.languages & spoken) ? foreignWord : otherLanguage),
      })),
    )
    .slice(0, mostReadings)
}

/** Converts a partial reading into one reading for each choice of its ambiguous meanings. */
const settle = (partial: PartialReading, neighbours: Neighbours): NameReading[] => {
  let all: {about: string[]; weight: number}[] = [{about: [], weight: partial.weight}]
  for (const atom of partial.atoms) {
    if (atom[0] === '~' || atom[0] === '@') continue
    const choices = atom.includes('?') ? choose(atom, neighbours, partial.atoms.length === 1) : [[atom, 1] as const]
    all = all.flatMap(one => choices.map(([about, weight]) => ({about: [...one.about, about], weight: one.weight * weight})))
  }
  const kinds = unique(
    partial.atoms.filter(atom => atom[0] === '~' || atom === 'rate').map(atom => (atom === 'rate' ? 'percent' : atom.slice(1))),
  )
  const of = unique(partial.atoms.filter(atom => atom[0] === '@').map(atom => atom.slice(1)))
  return all.map(({about, weight}) => ({about: join(about, of, partial), kinds, of, nth: nthOf(partial), rest: partial.rest, weight}))
}

const nthOf = ({nth}: PartialReading) => nth.find(number => number > 1) ?? nth[0] ?? 0

const join = (about: string[], of: string[], {rest}: PartialReading): string => {
  const all = unique(about)
  const kept = all.filter(one => !saidBy[one]?.some(other => all.includes(other)))
  // A name that is only a subject, such as `Company`, means the subject's name.
  if (kept.length === 0) return of.length > 0 && rest.length === 0 ? 'name' : ''
  return kept.sort().join('+')
}

const unique = (list: string[]) => [...new Set(list)]

type Choices = readonly (readonly [about: string, weight: number])[]

const choose = (atom: string, neighbours: Neighbours, isAlone: boolean): Choices => choices[atom]?.(neighbours, isAlone) ?? [[atom, 1]]

const choices: Record<string, (neighbours: Neighbours, isAlone: boolean) => Choices> = {
  'title?': ({person, jobtitle}) =>
    weighted(!person ? 'titled 1 jobtitle 0.5' : jobtitle ? 'salutation 0.85 jobtitle 0.5' : 'jobtitle 1 salutation 0.6'),
  'degree?': ({person, jobtitle}) => weighted(!person ? 'titled 1' : jobtitle ? 'salutation 0.85' : 'salutation 0.6 jobtitle 0.4'),
  'name?first': ({lastname}) => (lastname ? weighted('firstname 1') : weighted('name 1 firstname 0.4')),
  'name?last': ({firstname, lastname}) => weighted(firstname && !lastname ? 'lastname 1' : 'name 1'),
  'name?thing': ({person}, isAlone) => weighted(person && isAlone ? 'name 0.6' : 'name 1'),
  'department?': ({place}) => (place ? weighted('district 1 department 0.5') : weighted('department 1')),
  // A file with the source or owner of its records was exported from a CRM, so `status` means the status of the record.
  'status?': ({source, owner, stage}, isAlone) =>
    weighted(!isAlone ? 'status 1' : (source || owner) && !stage ? 'status 0.8' : 'status 0.56'),
  // For people, a website is often a profile. For a company with an address, it is the company's site.
  'website?': ({firstname, lastname, place}, isAlone) =>
    weighted(!isAlone ? 'website 1' : place && !firstname && !lastname ? 'website 0.8' : 'website 0.56'),
  'size?': (_, isAlone) => weighted(isAlone ? 'employees 0.74' : 'dimension 1'),
  'region?': ({place}, isAlone) => weighted(isAlone && !place ? 'state 0.56' : 'state 1'),
  'state?status': ({place}) => (place ? weighted('state 1 status 0.5') : weighted('status 0.9 state 0.55')),
}

const weighted = (list: string): Choices => {
  const parts = list.split(' ')
  return parts.flatMap((about, at) => (at % 2 === 0 ? [[about, Number(parts[at + 1])] as const] : []))
}

/** Reads the neighbours from all names of a file or module. `person`: whether the records are people. */
export const readNeighbours = (names: readonly string[], person: boolean): Neighbours => {
  const votes = LANGUAGES.map(() => 0)
  const found = new Set<string>()
  for (const name of names) {
    const {words} = readWords(name)
    for (let at = 0; at < words.length; ) {
      const [senses, taken] = longestAt(words, at)
      at += taken
      const [sense, ...others] = senses ?? []
      if (!sense || others.length > 0) continue
      for (const atom of sense.atoms) found.add(atom)
      const language = Math.log2(sense.languages)
      if (Number.isInteger(language)) votes[language]!++
    }
  }
  const most = Math.max(...votes)
  const bitsFrom = (least: number) => votes.reduce((bits, count, index) => (count >= least ? bits | (1 << index) : bits), 0)
  const languages = most < 2 ? 0 : bitsFrom(most)
  const spoken = most < fewestWords ? 0 : bitsFrom(2) | english
  const place = ['street', 'city', 'zip', 'country', 'address'].some(part => found.has(part))
  const has = (one: string) => found.has(one)
  const neighbours = {firstname: has('firstname'), lastname: has('lastname'), jobtitle: has('jobtitle'), source: has('source')}
  return {...neighbours, owner: has('owner'), stage: has('stage'), place, person, languages, spoken}
}
