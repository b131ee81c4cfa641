import {z} from 'zod'
import {drawnAs} from '../drawn.ts'
import {LIMITS} from './limits.ts'

const json = (what: string) => drawnAs(z.json(), z.unknown().describe(what))
const text = (longest: number) => z.string().max(longest)
const identifier = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'A letter or _, then letters, digits and _, at most 64')

/** semver.org, without its build part: the author's label, not our version number. */
const semver = z
  .string()
  .max(100)
  .regex(/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/, 'A version such as 1.2.0')

const Example = z.strictObject({
  arguments: z.array(json('One argument')).max(20).describe('What the function is called with'),
  result: json('What it has to answer: publishing runs it'),
})

const Parameter = z.strictObject({
  name: identifier.describe('The parameter’s name'),
  type: text(100).optional().describe('What it takes, in words'),
  description: text(500).optional().describe('What it is for'),
  optional: z.boolean().optional().describe('It may be left out'),
})

const ManifestFunction = z.strictObject({
  name: identifier.describe('The name it is exported by'),
  description: text(1000).default('').describe('What it does'),
  parameters: z.array(Parameter).max(20).default([]).describe('In the order they are given'),
  returns: z
    .union([
      text(100),
      z.strictObject({
        type: text(100).optional().describe('What it answers, in words'),
        description: text(500).optional().describe('What that means'),
      }),
    ])
    .optional()
    .describe('What it answers'),
  examples: z.array(Example).max(LIMITS.functionExamples).default([]).describe('Calls with their results, which every publish runs'),
})

/** What a library says of itself. `scope` is read here and refused in `checkLibrary`, so that the refusal has its own words. */
export const Manifest = z
  .strictObject({
    namespace: identifier.describe('What expressions call it by: `namespace.function(…)`'),
    version: semver.describe('The author’s label, such as 1.2.0; versions are counted beside it'),
    scope: z.enum(['org', 'global']).describe('`org`; `global` is not offered'),
    description: text(2000).default('').describe('What it is for'),
    functions: z.array(ManifestFunction).min(1).max(LIMITS.libraryFunctions).describe('Every function the source exports'),
  })
  .meta({id: 'Manifest', description: 'What a library says of itself'})
export type Manifest = z.output<typeof Manifest>
