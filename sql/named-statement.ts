/** A statement whose text names its values (`@run`, `@log.key`), converted to the numbered text and value list of Postgres. */
export type NamedStatement = {text: string; listValues(values: Record<string, unknown>): unknown[]}

/**
 * Converts a text with named values to a statement. `listValues` throws if a named value is missing. It ignores values that the text does
 * not name.
 */
export const nameStatement = (named: string): NamedStatement => {
  const names: string[] = []
  const text = named.replaceAll(/@([\w.]+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  const listValues = (values: Record<string, unknown>) =>
    names.map(name => {
      if (!(name in values)) throw new Error(`The statement has no value for ${name}`)
      return values[name]
    })
  return {text, listValues}
}
