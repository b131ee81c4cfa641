import {z} from 'zod'
import {LIMITS} from './limits.ts'

const Json = z.json()
const text = (longest: number) => z.string().max(longest)
const identifier = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'A letter or _, then letters, digits and _, at most 64')

/** semver.org, without its build part: the author's label, not our version number. */
const semver = z
  .string()
  .max(100)
  .regex(/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/, 'A version such as 1.2.0')

const Example = z.strictObject({arguments: z.array(Json).max(20), result: Json})

const Parameter = z.strictObject({
  name: identifier,
  type: text(100).optional(),
  description: text(500).optional(),
  optional: z.boolean().optional(),
})

const ManifestFunction = z.strictObject({
  name: identifier,
  description: text(1000).default(''),
  parameters: z.array(Parameter).max(20).default([]),
  returns: z.union([text(100), z.strictObject({type: text(100).optional(), description: text(500).optional()})]).optional(),
  examples: z.array(Example).max(LIMITS.functionExamples).default([]),
})

/** What a library says of itself. `scope` is read here and refused in `checkLibrary`, so that the refusal has its own words. */
export const Manifest = z.strictObject({
  namespace: identifier,
  version: semver,
  scope: z.enum(['org', 'global']),
  description: text(2000).default(''),
  functions: z.array(ManifestFunction).min(1).max(LIMITS.libraryFunctions),
})
export type Manifest = z.output<typeof Manifest>
