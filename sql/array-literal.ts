type Element = string | number | boolean | Buffer | null | undefined

/** Formats values as a Postgres array literal, for statements that run for every batch. The driver's own formatting takes three times as long. */
export const arrayLiteral = (values: readonly Element[]): string => literal(values.length, at => values[at])

export const columnLiteral = <Row, Name extends keyof Row>(rows: readonly Row[], name: Name): string =>
  literal(rows.length, at => rows[at]![name] as Element)

export const mappedLiteral = <Row>(rows: readonly Row[], read: (row: Row) => Element): string => literal(rows.length, at => read(rows[at]!))

const literal = (length: number, elementAt: (at: number) => Element) => {
  const elements = new Array<string>(length)
  for (let at = 0; at < length; at++) elements[at] = write(elementAt(at))
  return `{${elements.join()}}`
}

const write = (element: Element) => {
  if (element === null || element === undefined) return 'NULL'
  if (typeof element === 'string') {
    if (isBare.test(element)) return element
    return `"${element.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  }
  if (typeof element === 'object') return `\\\\x${element.toString('hex')}`
  return `${element}`
}

/** Texts that need no quotes, such as ids and times. Without quotes, an array of arrays needs no escapes. */
const isBare = /^(?!null$)[\w.:+-]+$/i
