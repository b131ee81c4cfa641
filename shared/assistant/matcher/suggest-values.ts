import {valueWords} from './lexicon/values.ts'
import {type Sense, sensesOf} from './lexicon.ts'
import {overlap} from './similar.ts'
import {normalForm} from './words.ts'

/** A field with a fixed set of values. `type` is the CRM's `data_type`. */
export type ValueField = {type: string; picklist: readonly {display: string; actual: string; unused?: true | undefined}[]}
/** A proposed target of a value. `why`: the value equals the option, differs by a plural ending, is a known synonym, or has a similar spelling. */
export type ValueSuggestion = {to: string; why: 'option' | 'plural' | 'alias' | 'similar'}

const fewestCommon = 0.8

/** Proposes an option of the field for each value, or null. Two options that fit equally give no proposal. Pure and deterministic. */
export const suggestValues = (values: readonly string[], field: ValueField): (ValueSuggestion | null)[] => {
  const options = readOptions(field)
  return values.map(value => (options.length > 0 ? suggest(value, options) : null))
}

type ReadOption = {to: string; forms: ValueForms[]}
type ValueForms = {form: string; words: string[]; plain: string; meanings: ReadonlySet<string>}

const readOptions = ({type, picklist}: ValueField): ReadOption[] => {
  if (type === 'boolean') return ['true', 'false'].map(to => ({to, forms: [readForms(to)]}))
  return picklist
    .filter(({unused}) => !unused)
    .map(({display, actual}) => ({to: display, forms: [...new Set([display, actual])].map(readForms).filter(({form}) => form !== '')}))
}

const readForms = (text: string): ValueForms => {
  const form = normalForm(text)
  const words = form.split(' ').filter(Boolean)
  return {form, words, plain: words.map(singularOf).join(' '), meanings: meaningsOf(form)}
}

const suggest = (text: string, options: readonly ReadOption[]): ValueSuggestion | null => {
  const value = readForms(text)
  if (value.form === '') return null
  const fits: [ValueSuggestion['why'], (option: ValueForms) => boolean][] = [
    ['option', ({form}) => form === value.form],
    ['plural', ({plain}) => plain === value.plain],
    ['alias', ({meanings}) => [...meanings].some(meaning => value.meanings.has(meaning))],
  ]
  for (const [why, fit] of fits) {
    const found = options.filter(({forms}) => forms.some(fit))
    if (found.length === 1) return {to: found[0]!.to, why}
    if (found.length > 1) return null
  }
  return suggestSimilar(value, options)
}

const suggestSimilar = ({words}: ValueForms, options: readonly ReadOption[]): ValueSuggestion | null => {
  const scored = options.map(({to, forms}) => ({to, score: Math.max(0, ...forms.map(form => overlap(words, form.words)))}))
  const best = scored.reduce((most, one) => (one.score > most.score ? one : most), {to: '', score: 0})
  const isAlone = scored.filter(({score}) => score === best.score).length === 1
  return best.score >= fewestCommon && isAlone ? {to: best.to, why: 'similar'} : null
}

/**
 * Returns the meanings of a value by the known words for values. A value without such a word is looked up among the words for column names, such as
 * `customer`.
 */
const meaningsOf = (form: string): ReadonlySet<string> => {
  const known = words().get(form)
  return new Set(known ?? (sensesOf(form) ?? []).map(nameSense))
}

const nameSense = ({atoms}: Sense) => `name ${[...atoms].sort().join('+')}`

let made: Map<string, Set<string>> | null = null
const words = () => {
  if (made) return made
  made = new Map()
  for (const [meaning, byLanguage] of Object.entries(valueWords))
    for (const phrase of Object.values(byLanguage).flatMap(text => text.split(',')))
      made.set(normalForm(phrase), (made.get(normalForm(phrase)) ?? new Set()).add(meaning))
  return made
}

/**
 * Folds frequent plurals of European languages. Words of fewer than five letters stay unchanged, because short words often differ in one letter.
 */
const singularOf = (word: string) => {
  if (word.length < 5) return word
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  return word.replace(/(?:ses|xes|ches|shes)$/, end => end.slice(0, -2)).replace(/(?<!s)s$|(?<=[nrlt])en$/, '')
}
