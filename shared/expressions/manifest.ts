import {z} from 'zod'
import {withJsonSchema} from '../schema/json-schema.ts'
import {LIMITS} from './limits.ts'

const json = (what: string) => withJsonSchema(z.json(), z.unknown().describe(what))
const text = (longest: number) => z.string().max(longest)
const identifier = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'Must be a letter or _, then letters, digits and _, at most 64')

/** A version by semver.org, without build metadata. The author sets it; the service numbers versions separately. */
const semver = z
  .string()
  .max(100)
  .regex(/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/, 'A version such as 1.2.0')

const Example = z.strictObject({
  arguments: z.array(json('One argument')).max(20).describe('The arguments of the call'),
  result: json('The expected result; publishing checks it'),
})

const Parameter = z.strictObject({
  name: identifier.describe('The parameter’s name'),
  type: text(100).optional().describe('The type, as text'),
  description: text(500).optional().describe('What it is for'),
  optional: z.boolean().optional().describe('Whether the parameter is optional'),
})

const ManifestFunction = z.strictObject({
  name: identifier.describe('The exported name'),
  description: text(1000).default('').describe('What it does'),
  parameters: z.array(Parameter).max(20).default([]).describe('The parameters in order'),
  returns: z
    .union([
      text(100),
      z.strictObject({
        type: text(100).optional().describe('The type of the result, as text'),
        description: text(500).optional().describe('The meaning of the result'),
      }),
    ])
    .optional()
    .describe('The result'),
  examples: z
    .array(Example)
    .max(LIMITS.functionExamples)
    .default([])
    .describe('Calls with their expected results, which every publish checks'),
})

/** The manifest of a library. The scope `global` is accepted here, because `checkLibrary` refuses it with a specific message. */
export const Manifest = z
  .strictObject({
    namespace: identifier.describe('The name in expressions: `namespace.function(…)`'),
    version: semver.describe('The author’s label, such as 1.2.0; the service counts versions separately'),
    scope: z.enum(['org', 'global']).describe('`org`; `global` is not supported'),
    description: text(2000).default('').describe('What it is for'),
    functions: z.array(ManifestFunction).min(1).max(LIMITS.libraryFunctions).describe('Every function that the source exports'),
  })
  .meta({id: 'Manifest', description: 'Describes a library and its functions'})
export type Manifest = z.output<typeof Manifest>
