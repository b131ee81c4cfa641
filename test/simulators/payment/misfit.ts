import {objectSchema} from './schemas/files.ts'
import type {Schema} from './schemas/generate.ts'

/**
 * The position at which a value violates its schema, or null. Supports only the parts of JSON Schema that `schemas/generate.ts`
 * writes. Interprets the schemas, because compiling them takes longer than all checks of a test file.
 */
export const misfitOf = (schema: Schema, value: unknown, at = 'it'): string | null => {
  const {$ref, type, enum: values, anyOf, items} = schema
  if ($ref !== undefined) return misfitOf(objectSchema($ref), value, at)
  if (type !== undefined && !isOf[type]!(value)) return `${at} is no ${type}`
  if (values !== undefined && !values.includes(value)) return `${at} is none of ${values.join(', ')}`
  if (anyOf?.every((one: Schema) => misfitOf(one, value, at) !== null)) return `${at} is nothing it may be: ${JSON.stringify(value)}`
  if (Array.isArray(value)) return items === undefined ? null : first(value, (item, index) => misfitOf(items, item, `${at}[${index}]`))
  return isOf.object!(value) ? misfitIn(schema, value as Record<string, unknown>, at) : null
}

const isOf: Record<string, (value: unknown) => boolean> = {
  null: value => value === null,
  string: value => typeof value === 'string',
  number: Number.isFinite,
  boolean: value => typeof value === 'boolean',
  array: Array.isArray,
  object: value => typeof value === 'object' && value !== null && !Array.isArray(value),
}

/** A key with an undefined value is not sent, but is refused if the schema does not know it. */
const misfitIn = ({properties = {}, required = [], additionalProperties: others}: Schema, value: Record<string, unknown>, at: string) =>
  first(required as string[], key => (value[key] === undefined ? `${at} has no ${key}` : null)) ??
  first(Object.keys(value), key => {
    if (Object.hasOwn(properties, key)) return value[key] === undefined ? null : misfitOf(properties[key], value[key], `${at}.${key}`)
    if (others === false) return `${at} has a key ${key} too many`
    return others === undefined ? null : misfitOf(others, value[key], `${at}.${key}`)
  })

const first = <T>(all: T[], look: (one: T, index: number) => string | null): string | null => {
  for (const [index, one] of all.entries()) {
    const found = look(one, index)
    if (found !== null) return found
  }
  return null
}
