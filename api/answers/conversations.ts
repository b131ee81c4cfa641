import {z} from 'zod'
import {Answer, Id, Moment, NextCursor} from './common.ts'
import {PersonNamed} from './people.ts'

const part = (what: string) => z.string().nullable().optional().describe(`${what}; null: none, absent: this kind has none`)

export const Place = Answer({
  kind: z
    .enum(['source', 'field', 'vals', 'failed', 'issue', 'checks', 'run'])
    .describe('A file, a field of it, the values of a module, failed rows, a problem, the checks, the run'),
  source: part('The file'),
  module: part('The API name of the module'),
  field: part('The API name of the field'),
  problem: part('The kind of the problem'),
  code: part('The code rows failed with'),
}).meta({id: 'Place', description: 'What of an import a question is about'})

export const Samples = z
  .enum(['allow', 'values', 'masked', 'none'])
  .describe(
    'The most telling of the file that went to the model: `allow` values at will, `values` of columns that are nobody’s, `masked` shapes alone, `none`',
  )

const KeptTurn = Answer({
  id: Id('trn', 'The turn'),
  position: z.int().nonnegative().describe('Its place in the conversation, counted from 0'),
}).meta({id: 'KeptTurn', description: 'Where an answer is kept'})

export const turn = KeptTurn.nullable().describe('Where the answer is kept; null: nobody asked for that, or what it belonged to has gone')

/** What an answer proposed; a newer build may keep more of it. */
const Target = z.union([
  z.looseObject({
    kind: z.literal('mapping').describe('A column goes into a field'),
    column: z.string().describe('The column'),
    module: z.string().describe('The API name of the module'),
    field: z.string().describe('The API name of the field'),
    confidence: z.number().min(0).max(1).describe('How sure it is, 0 to 1'),
  }),
  z.looseObject({
    kind: z.literal('expression').describe('A field is filled by an expression'),
    module: z.string().nullable().describe('The API name of the module; null: none was named'),
    field: z.string().nullable().describe('The API name of the field; null: none was named'),
    expression: z.string().describe('The JavaScript expression'),
  }),
])

export const Turn = Answer({
  id: Id('trn', 'The turn'),
  place: Place,
  route: z.enum(['auto-map', 'formula', 'chat']).describe('Which route of `/ai` answered'),
  position: z.int().nonnegative().describe('Its place in the conversation there, counted from 0'),
  question: z.string().describe('What was asked; of a mapping the names of the columns'),
  answer: z.string().describe('What was answered'),
  notes: z.array(z.string()).describe('What there is to say of the answer, one sentence each'),
  targets: z.array(Target).describe('What it proposed'),
  samples: Samples,
  askedAt: Moment('When it was asked'),
  askedBy: PersonNamed.nullable().describe('Who asked, or whose token did; null: they were deleted'),
  askedVia: z.enum(['session', 'api_token', 'mcp']).describe('How: signed in, by an API token, by an MCP client'),
  replayed: z.boolean().describe('Whether the next question at its place may send it to the model again'),
  draft: z.boolean().describe('Whether it belongs to a draft'),
  draftId: z.string().nullable().describe("The client's own id of the draft; null: none was given"),
  draftScope: z.enum(['import', 'gaps', 'anyway']).nullable().describe('How far the draft goes; null: nothing was said'),
}).meta({id: 'Turn', description: 'A question and its answer, kept with an import'})

export const TurnPage = Answer({
  turns: z.array(Turn).describe('The newest asked first. A page may be shorter than asked for with more behind it'),
  nextCursor: NextCursor,
})

/** What a place of an import that is asked about refuses with. */
export const ofPlace = ['INVALID_PLACE', 'IMPORT_NOT_FOUND', 'FILE_GONE'] as const

export const turnExample = {
  ...{id: 'trn_01k9m0v6f8e2r4t7w3y5z1a2b3', place: {kind: 'run'}, route: 'chat', position: 0, question: 'Why were so many rows refused?'},
  ...{
    answer: 'The CRM has no such country for 12 of them.',
    notes: [],
    targets: [],
    samples: 'masked',
    askedAt: '2026-03-01T08:30:00.000Z',
  },
  ...{askedBy: {id: 'per_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Ana Example'}, askedVia: 'session', replayed: true},
  ...{draft: false, draftId: null, draftScope: null},
}
