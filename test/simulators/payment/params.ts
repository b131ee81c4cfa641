import type {Raw} from './form.ts'
import {invalid, type Refusal} from './refusals.ts'
import type {Schema} from './schemas/generate.ts'

/** Converts a form by its schema: numbers and booleans get their types, and unknown keys are refused. */
export const readParams = (schema: Schema, raw: Record<string, Raw>): Record<string, any> => {
  const read = take(schema, raw, '')
  if (read.refusal) throw read.refusal
  return read.value
}

type ReadParam = {value: any; refusal?: Refusal; depth?: number}

const take = (schema: Schema, raw: Raw, at: string): ReadParam => {
  if (schema.anyOf) return takeAny(schema.anyOf, raw, at)
  if (schema.enum) return schema.enum.includes(raw) ? {value: raw} : wrong(at, `Invalid ${at}: must be one of ${words(schema.enum)}`)
  if ('const' in schema) return String(schema.const) === raw ? {value: schema.const} : wrong(at, `Invalid ${at}`)
  switch (schema.type) {
    case 'string':
      return typeof raw === 'string' ? {value: raw} : wrong(at, `Invalid string: ${at}`)
    case 'number':
      return typeof raw === 'string' && /^-?\d+(\.\d+)?$/.test(raw)
        ? {value: Number(raw)}
        : wrong(at, `Invalid integer: ${text(raw)}`, 'parameter_invalid_integer')
    case 'boolean':
      return raw === 'true' || raw === 'false' ? {value: raw === 'true'} : wrong(at, `Invalid boolean: ${text(raw)}`)
    case 'null':
      return raw === '' ? {value: null} : wrong(at, `Invalid ${at}`)
    case 'array':
      return takeList(schema.items, raw, at)
    case 'object':
      return takeObject(schema, raw, at)
    default:
      return {value: raw}
  }
}

const order = (schema: Schema) =>
  schema.enum || 'const' in schema ? 0 : ['null', 'string', 'number', 'boolean'].indexOf(schema.type) + 1 || 9

/** The first schema that fits: constants, then texts, then numbers; otherwise the most specific refusal. */
const takeAny = (schemas: Schema[], raw: Raw, at: string): ReadParam => {
  let deepest: ReadParam | null = null
  for (const schema of schemas.toSorted((a, b) => order(a) - order(b))) {
    const read = take(schema, raw, at)
    if (!read.refusal) return read
    if (!deepest || (read.depth ?? 0) > (deepest.depth ?? 0) || (schema.type === 'object' && typeof raw === 'object')) deepest = read
  }
  return deepest!
}

const takeList = (items: Schema, raw: Raw, at: string): ReadParam => {
  if (!Array.isArray(raw)) return wrong(at, 'Invalid array', 'parameter_invalid_empty')
  const reads = raw.map((one, index) => take(items, one, `${at}[${index}]`))
  return reads.find(read => read.refusal) ?? {value: reads.map(read => read.value)}
}

const takeObject = (schema: Schema, raw: Raw, at: string): ReadParam => {
  if (typeof raw === 'string') return wrong(at, 'Invalid object')
  const value: Record<string, any> = {}
  for (const [name, part] of Object.entries(raw)) {
    const path = at === '' ? name : `${at}[${name}]`
    const own = schema.properties?.[name] ?? (schema.additionalProperties || undefined)
    if (!own) return {...wrong(path, `Received unknown parameter: ${path}`, 'parameter_unknown'), depth: depthOf(path)}
    const read = take(own === true ? {} : own, part, path)
    if (read.refusal) return read
    value[name] = read.value
  }
  const absent = (schema.required ?? []).find((name: string) => !(name in value))
  if (absent === undefined) return {value}
  const path = at === '' ? absent : `${at}[${absent}]`
  return {...wrong(path, `Missing required param: ${path}.`, 'parameter_missing'), depth: depthOf(path)}
}

const words = (all: unknown[]) => (all.length > 12 ? `${all.slice(0, 12).join(', ')}…` : all.join(', '))
const depthOf = (path: string) => path.split('[').length
const text = (raw: Raw) => (typeof raw === 'string' ? raw : JSON.stringify(raw))
const wrong = (param: string, message: string, code?: string): ReadParam => ({
  value: undefined,
  refusal: invalid(message, {...(code ? {code} : {}), param}),
  depth: depthOf(param),
})
