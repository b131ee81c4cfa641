import {type Conversion, type FieldShape, type Refused, type Rules, taken, tooLong} from './converted.ts'

export const fold = (text: string) => text.trim().toLowerCase()

/**
 * Finds the option with this display value, then with this actual value, then with either in another case. The CRM stores a text that names no
 * option without an error.
 */
export const findOption = (text: string, {picklist}: Pick<FieldShape, 'picklist'>) => {
  const folded = text.toLowerCase()
  return (
    picklist.find(({display}) => display === text) ??
    picklist.find(({actual}) => actual === text) ??
    picklist.find(({actual, display}) => [display, actual].some(name => name.toLowerCase() === folded))
  )
}

/** The display value of the option: what create, update and COQL take. Source: help.zoho.com, Kaizen #205, "Use the display_value in API requests". */
export const findChoice = (text: string, field: Pick<FieldShape, 'picklist'>): string | undefined => findOption(text, field)?.display

/** By the mapping's own table first; then by the list; then as the mapping says of strangers. */
const choose = (text: string, field: FieldShape, {map, unlisted}: Rules): string | undefined =>
  findChoice(map?.get(fold(text)) ?? text, field) ?? (unlisted === 'pass' ? text : undefined)

const notListed = ({apiName}: FieldShape, which: string): Refused => ({
  ok: false,
  code: 'NOT_IN_PICKLIST',
  message: `${apiName} does not list ${which}`,
})

export const convertChoice: Conversion = (text, field, rules) => {
  const choice = choose(text, field, rules)
  if (choice === undefined) return notListed(field, 'this value')
  return field.length && choice.length > field.length ? tooLong(field, choice.length) : taken(choice)
}

/** Parted by semicolons, or a JSON list of texts. Up to the first that is not listed. */
export const convertChoices: Conversion = (text, field, rules) => {
  const chosen = new Set<string>()
  for (const part of new Set(listIn(text).map(part => part.trim()))) {
    if (part === '') continue
    const choice = choose(part, field, rules)
    if (choice === undefined) return notListed(field, 'one of these values')
    chosen.add(choice)
  }
  return taken([...chosen])
}

const listIn = (text: string): string[] => {
  if (text.startsWith('[') && text.endsWith(']')) {
    try {
      const list: unknown = JSON.parse(text)
      if (Array.isArray(list) && list.every(one => typeof one === 'string')) return list
    } catch (error) {
      // It begins like a list and is none: a text like any other.
      if (!(error instanceof SyntaxError)) throw error
    }
  }
  return text.split(';')
}
