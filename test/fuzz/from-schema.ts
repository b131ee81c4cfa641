import fc from 'fast-check'
import {z} from 'zod'
import {boundaries} from './odd-values.ts'

/** A node of a JSON schema. */
type Node = {[key: string]: any}
/** Returns usual values in the tested org for a property of this name, or null. */
type KnownValues = (name: string) => fc.Arbitrary<unknown> | null

/**
 * Returns values for a zod schema. Most are valid, but refinements that JSON schema cannot express are ignored. About one number in twenty is
 * invalid. About one text in thirteen is at a limit of length, beyond it, or unusual.
 */
export const fromSchema = (schema: z.ZodType, known: KnownValues): fc.Arbitrary<unknown> => {
  const root: Node = z.toJSONSchema(schema, {io: 'input', unrepresentable: 'any'})
  return drawn({root, known, depth: 0}, root)
}

type SchemaPlace = {root: Node; known: KnownValues; depth: number}

const mostDepth = 6
const anything = fc.jsonValue({maxDepth: 2})

const drawn = (place: SchemaPlace, node: Node): fc.Arbitrary<unknown> => {
  if (typeof node !== 'object' || place.depth > mostDepth) return anything
  if (node.$ref) return drawn(deeper(place), referred(place.root, node.$ref))
  if ('const' in node) return fc.constant(node.const)
  if (node.enum) return fc.constantFrom(...node.enum)
  const choices = node.anyOf ?? node.oneOf
  if (choices) return fc.oneof(...choices.map((one: Node) => drawn(deeper(place), {...node, anyOf: undefined, oneOf: undefined, ...one})))
  if (node.allOf) return drawn(deeper(place), node.allOf.reduce(joined, {...node, allOf: undefined}))
  if (Array.isArray(node.type)) return fc.oneof(...node.type.map((type: string) => drawn(place, {...node, type})))
  return (BY_TYPE[node.type] ?? (() => anything))(place, node)
}

const deeper = (place: SchemaPlace): SchemaPlace => ({...place, depth: place.depth + 1})

const referred = (root: Node, ref: string): Node =>
  ref
    .split('/')
    .slice(1)
    .reduce((node, step) => node[step.replaceAll('~1', '/').replaceAll('~0', '~')] ?? {}, root)

const joined = (one: Node, other: Node): Node => ({
  ...one,
  ...other,
  properties: {...one.properties, ...other.properties},
  required: [...(one.required ?? []), ...(other.required ?? [])],
})

const BY_TYPE: Record<string, (place: SchemaPlace, node: Node) => fc.Arbitrary<unknown>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: (_, node) => numbers(node, true),
  number: (_, node) => numbers(node, false),
  string: (_, node) => strings(node),
  array: (place, {items = {}, prefixItems, minItems = 0, maxItems = 5}) =>
    prefixItems
      ? fc.tuple(...prefixItems.map((item: Node) => drawn(deeper(place), item)))
      : fc.array(drawn(deeper(place), items), {
          minLength: Math.min(minItems, 50),
          maxLength: Math.max(Math.min(minItems, 50), Math.min(maxItems, 5)),
        }),
  object: (place, node) => objects(place, node),
}

const numbers = ({minimum, exclusiveMinimum, maximum, exclusiveMaximum}: Node, whole: boolean) => {
  const lowest = minimum ?? (exclusiveMinimum === undefined ? -10 : exclusiveMinimum + 1)
  const highest = Math.max(lowest, maximum ?? (exclusiveMaximum === undefined ? lowest + 1000 : exclusiveMaximum - 1))
  const usual = fc.oneof(fc.integer({min: lowest, max: Math.min(highest, lowest + 20)}), fc.constantFrom(lowest, highest))
  const beyond = fc.constantFrom(lowest - 1, highest + 1, ...(whole ? [lowest + 0.5] : []))
  return fc.oneof({weight: 19, arbitrary: usual}, {weight: 1, arbitrary: beyond})
}

const strings = ({pattern, format, minLength = 0, maxLength = 40}: Node): fc.Arbitrary<string> => {
  const usual =
    BY_FORMAT[format] ??
    matching(pattern) ??
    fc.string({minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)), unit: 'grapheme'})
  const limits = [minLength - 1, maxLength, maxLength + 1].filter(length => length >= 0 && length <= 70_000)
  const beyond = fc.oneof(fc.constantFrom(...limits.map(length => 'x'.repeat(length)), ''), boundaries.strings)
  return fc.oneof({weight: 12, arbitrary: usual}, {weight: 1, arbitrary: beyond})
}

/** Returns texts that match the pattern. Returns null without a pattern, or if fast-check cannot draw from the pattern. */
const matching = (pattern: string | undefined) => {
  if (pattern === undefined) return null
  try {
    return fc.stringMatching(new RegExp(pattern, 'u'))
  } catch {
    return null
  }
}

const BY_FORMAT: Record<string, fc.Arbitrary<string>> = {
  email: fc.emailAddress(),
  uri: fc.constantFrom(
    'https://files.example/a.csv',
    'https://receiver.example/hook',
    'http://[::1]/',
    'https://user:pass@host.example/?q=1',
  ),
  uuid: fc.uuid(),
  'date-time': fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'),
  date: fc.constantFrom('2026-01-01', '2024-02-29', '0001-01-01'),
}

const objects = (place: SchemaPlace, {properties = {}, required = [], additionalProperties}: Node): fc.Arbitrary<unknown> => {
  const model = Object.fromEntries(
    Object.entries(properties as Node).map(([name, node]) => {
      const known = place.known(name)
      const own = drawn(deeper(place), node)
      return [name, known && takes(node, place.root) ? fc.oneof({weight: 5, arbitrary: known}, {weight: 1, arbitrary: own}) : own]
    }),
  )
  const declared = fc.record(model, {requiredKeys: required.filter((name: string) => name in model)})
  if (typeof additionalProperties !== 'object') return declared
  const more = fc.dictionary(fc.string({maxLength: 12}), drawn(deeper(place), additionalProperties), {maxKeys: 3})
  return fc.tuple(declared, more).map(([one, other]) => ({...other, ...one}))
}

/** Whether the node can be a string. */
const takes = (node: Node, root: Node): boolean =>
  node.type === 'string' ||
  [...(node.anyOf ?? [])].some(one => takes(one, root)) ||
  Boolean(node.$ref && takes(referred(root, node.$ref), root))
