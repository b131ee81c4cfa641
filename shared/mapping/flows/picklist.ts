import {type Conversion, converted, type FieldShape, type RefusedValue, type Rules, tooLong} from './converted.ts'

/** Texts from macOS may be decomposed: their `Ö` is an `O` and a diaeresis. */
export const fold = (text: string) => text.normalize('NFC').trim().toLowerCase()

/**
 * Finds an option by display value, else by actual value, else by either in another letter case. Unlisted texts must be found here, because the CRM
 * stores them without an error.
 */
export const findOption = (text: string, {picklist}: Pick<FieldShape, 'picklist'>) => {
  const folded = fold(text)
  return (
    picklist.find(({display}) => display === text) ??
    picklist.find(({actual}) => actual === text) ??
    picklist.find(({actual, display}) => [display, actual].some(name => fold(name) === folded))
  )
}

/**
 * Returns the display value, which create, update and COQL take. Undefined if no option matches. Source: help.zoho.com, Kaizen #205, "Use the
 * display_value in API requests".
 */
export const findChoice = (text: string, field: Pick<FieldShape, 'picklist'>): string | undefined => findOption(text, field)?.display

const choose = (text: string, field: FieldShape, {unlisted}: Rules): string | undefined =>
  findChoice(text, field) ?? (unlisted === 'pass' ? text : undefined)

const notListed = ({apiName}: FieldShape, which: string): RefusedValue => ({
  ok: false,
  code: 'NOT_IN_PICKLIST',
  message: `${apiName} does not list ${which}`,
})

export const convertChoice: Conversion = (text, field, rules) => {
  const choice = choose(text, field, rules)
  if (choice === undefined) return notListed(field, 'this value')
  return field.length && choice.length > field.length ? tooLong(field, choice.length) : converted(choice)
}

export const convertChoices: Conversion = (text, field, rules) => {
  const chosen = new Set<string>()
  for (const part of new Set(listIn(text).map(part => part.trim()))) {
    if (part === '') continue
    const choice = choose(part, field, rules)
    if (choice === undefined) return notListed(field, 'one of these values')
    chosen.add(choice)
  }
  return converted([...chosen])
}

/** The CRM creates missing tags. Shape: the vendor's SDK, `Tag` with a `name`. */
export const convertTags: Conversion = text =>
  converted([...new Set(listIn(text).map(part => part.trim()))].filter(part => part !== '').map(name => ({name})))

/** Splits a cell into its values: a JSON list of texts, or texts separated by semicolons. */
export const listIn = (cell: string): string[] => {
  const text = cell.trim()
  if (text.startsWith('[') && text.endsWith(']')) {
    try {
      const list: unknown = JSON.parse(text)
      if (Array.isArray(list) && list.every(one => typeof one === 'string')) return list
    } catch (error) {
      // Text in brackets that is not valid JSON is split like any other text.
      if (!(error instanceof SyntaxError)) throw error
    }
  }
  return text.split(';')
}
