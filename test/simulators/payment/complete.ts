import {objectSchema, schemaNames} from './schemas/files.ts'
import type {Schema} from './schemas/generate.ts'
import type {Thing} from './store.ts'

/**
 * Completes an object by its schema: nullable values are null, lists empty, flags off. A missing value without a default is an
 * error of the stand-in.
 */
export const complete = (object: string, given: {id: string; [name: string]: unknown}): Thing => {
  const name = schemaNames[object]
  if (!name) throw new TypeError(`No schema: ${object}`)
  return fill(objectSchema(name), {...given, object}, object) as Thing
}

const fill = (schema: Schema, value: Record<string, any>, at: string): Record<string, any> => {
  const filled = {...value}
  for (const name of schema.required ?? []) {
    const own = schema.properties[name]
    const [given] = [filled[name]]
    if (given === undefined) filled[name] = blank(own, `${at}.${name}`)
    else if (isPlain(given)) filled[name] = fillAny(own, given, `${at}.${name}`)
  }
  return filled
}

/** Completes a union only if exactly one object form is possible. */
const fillAny = (schema: Schema, value: Record<string, any>, at: string): Record<string, any> => {
  const shapes = (schema.anyOf ?? [schema]).filter((one: Schema) => one.type === 'object' && one.properties)
  return shapes.length === 1 ? fill(shapes[0], value, at) : value
}

const blank = (schema: Schema, at: string): unknown => {
  const parts: Schema[] = schema.anyOf ?? [schema]
  if (parts.some(part => part.type === 'null')) return null
  if (parts.some(part => part.type === 'array')) return []
  if (parts.some(part => part.type === 'boolean')) return false
  const [only] = parts
  if (parts.length === 1 && only!.enum?.length === 1) return only!.enum[0]
  if (parts.length === 1 && only!.type === 'object') return only!.properties ? fill(only!, {}, at) : {}
  throw new TypeError(`The stand-in left out ${at}`)
}

const isPlain = (value: unknown): value is Record<string, any> => typeof value === 'object' && value !== null && !Array.isArray(value)
