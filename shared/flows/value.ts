import type {DiscoveredField} from '../crm/discovered.ts'

/** What of a field the conversion needs; a run's snapshot keeps just this. */
export type FieldShape = Pick<DiscoveredField, 'apiName' | 'type' | 'length' | 'picklist'>

export type Converted = {ok: true; value: unknown} | {ok: false; code: 'INVALID_VALUE' | 'TOO_LONG' | 'NOT_IN_PICKLIST'; message: string}

/** The clear token: a cell that says "empty this field". */
export const CLEAR = '\\N'

/** A non-empty cell as the CRM takes it for this field, or why not. Nothing ambiguous is guessed: dates and times are ISO 8601 here. */
export const convert = (text: string, field: FieldShape): Converted => {
  const conversion = CONVERSIONS[field.type]
  return conversion ? conversion(text.trim(), field) : convertText(text, field)
}

type Conversion = (text: string, field: FieldShape) => Converted

const ok = (value: unknown): Converted => ({ok: true, value})
const invalid = ({apiName}: FieldShape, expected: string): Converted => ({
  ok: false,
  code: 'INVALID_VALUE',
  message: `${apiName} takes ${expected}`,
})

const convertText: Conversion = (text, field) =>
  field.length && text.length > field.length
    ? {ok: false, code: 'TOO_LONG', message: `${field.apiName} takes at most ${field.length} characters; this cell has ${text.length}`}
    : ok(text)

const convertInteger: Conversion = (text, field) => {
  const value = Number(text)
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value)) return invalid(field, 'a whole number without separators')
  return ok(value)
}

/** Kept as text: the CRM's own long numbers pass 2^53 and are read as strings. Source: wire reference 4.3. */
const convertLong: Conversion = (text, field) =>
  /^[+-]?\d{1,19}$/.test(text) ? ok(text) : invalid(field, 'a whole number of at most 19 digits')

const convertDecimal: Conversion = (text, field) => {
  const value = Number(text)
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) || !Number.isFinite(value)) {
    return invalid(field, 'a number with a point as the decimal mark and no separators')
  }
  return ok(value)
}

const WORDS = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
])

const convertBoolean: Conversion = (text, field) => {
  const value = WORDS.get(text.toLowerCase())
  return value === undefined ? invalid(field, 'true or false (also yes, no, 1, 0)') : ok(value)
}

const isDay = (text: string) => {
  const at = new Date(`${text}T00:00:00Z`)
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

const convertDate: Conversion = (text, field) => (isDay(text) ? ok(text) : invalid(field, 'a date as YYYY-MM-DD'))

const MOMENT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:\.\d+)?(Z|[+-]\d\d:?\d\d)$/

const convertMoment: Conversion = (text, field) => {
  const [, day, time, seconds = ':00', zone] = MOMENT.exec(text) ?? []
  if (!day || !isDay(day) || Number.isNaN(new Date(`${day}T${time}${seconds}Z`).getTime())) {
    return invalid(field, 'a moment as YYYY-MM-DDThh:mm:ss with its offset from UTC')
  }
  const offset = zone === 'Z' ? '+00:00' : zone!.includes(':') ? zone! : `${zone!.slice(0, 3)}:${zone!.slice(3)}`
  return ok(`${day}T${time}${seconds}${offset}`)
}

const convertEmail: Conversion = (text, field) => (isEmail(text) ? convertText(text, field) : invalid(field, 'an e-mail address'))

/** Something, an @ and a host with a point inside, without blanks. In one pass: a cell may have a million characters. */
const isEmail = (text: string) => {
  const at = text.indexOf('@')
  return at > 0 && at === text.lastIndexOf('@') && !/\s/.test(text) && text.slice(at + 2, -1).includes('.')
}

/** Exact, then by what people see, then whatever the case: the CRM would store a stranger silently. Source: wire reference, trap T7. */
const choose = (text: string, {picklist}: FieldShape) => {
  const folded = text.toLowerCase()
  return (
    picklist.find(({actual}) => actual === text) ??
    picklist.find(({display}) => display === text) ??
    picklist.find(({actual, display}) => [actual, display].some(name => name.toLowerCase() === folded))
  )
}

const convertChoice: Conversion = (text, field) => {
  const choice = choose(text, field)
  return choice ? ok(choice.actual) : {ok: false, code: 'NOT_IN_PICKLIST', message: `${field.apiName} does not list this value`}
}

/** Up to the first that is not listed. */
const convertChoices: Conversion = (text, field) => {
  const chosen = new Set<string>()
  for (const part of new Set(text.split(';').map(part => part.trim()))) {
    const choice = part === '' ? null : choose(part, field)
    if (choice === undefined) return {ok: false, code: 'NOT_IN_PICKLIST', message: `${field.apiName} does not list one of these values`}
    if (choice) chosen.add(choice.actual)
  }
  return ok([...chosen])
}

const convertLink: Conversion = (text, field) => (/^\d{10,25}$/.test(text) ? ok({id: text}) : invalid(field, "a record's id"))

const CONVERSIONS: Record<string, Conversion> = {
  integer: convertInteger,
  bigint: convertLong,
  long: convertLong,
  double: convertDecimal,
  percent: convertDecimal,
  currency: convertDecimal,
  boolean: convertBoolean,
  date: convertDate,
  datetime: convertMoment,
  email: convertEmail,
  picklist: convertChoice,
  multiselectpicklist: convertChoices,
  lookup: convertLink,
  ownerlookup: convertLink,
  userlookup: convertLink,
}
