import {z} from 'zod'
import {Answer, Id, Moment, NextCursor} from './common.ts'
import {PersonNamed} from './people.ts'

const part = (what: string) => z.string().nullable().optional().describe(`${what}. Null: none. Absent: not used by this kind`)

const Place = Answer({
  kind: z
    .enum(['source', 'field', 'vals', 'failed', 'issue', 'checks', 'run'])
    .describe('A file, a field, the values of a module, failed rows, a problem, the checks, or the run'),
  source: part('The file'),
  module: part('The API name of the module'),
  field: part('The API name of the field'),
  problem: part('The kind of the problem'),
  code: part('The error code of the rows'),
}).meta({id: 'Place', description: 'The part of an import that a question is about'})

export const Samples = z
  .enum(['allow', 'values', 'masked', 'none'])
  .describe(
    'The most detailed sample data sent to the model. `allow`: any values. `values`: values of columns without personal data. `masked`: only shapes of values. `none`: no sample data',
  )

const KeptTurn = Answer({
  id: Id('trn', 'The turn'),
  position: z.int().nonnegative().describe('Position in the conversation, from 0'),
}).meta({id: 'KeptTurn', description: 'Where an answer is stored'})

export const turn = KeptTurn.nullable().describe('Where the answer is stored. Null: not requested, or its import or file was deleted')

/** A proposal in an answer of the assistant. Later versions of Lading may have stored more keys. */
const Target = z.union([
  z.looseObject({
    kind: z.literal('mapping').describe('Maps a column to a field'),
    column: z.string().describe('The column'),
    module: z.string().describe('The API name of the module'),
    field: z.string().describe('The API name of the field'),
    confidence: z.number().min(0).max(1).describe('Confidence, 0 to 1'),
  }),
  z.looseObject({
    kind: z.literal('expression').describe('Fills a field with an expression'),
    module: z.string().nullable().describe('The API name of the module. Null: none given'),
    field: z.string().nullable().describe('The API name of the field. Null: none given'),
    expression: z.string().describe('The JavaScript expression'),
  }),
])

const Turn = Answer({
  id: Id('trn', 'The turn'),
  place: Place,
  route: z.enum(['auto-map', 'formula', 'chat']).describe('The `/ai` route that answered'),
  position: z.int().nonnegative().describe('Position in the conversation at that place, from 0'),
  question: z.string().describe('The question. For a mapping, the names of the columns'),
  answer: z.string().describe('The answer'),
  notes: z.array(z.string()).describe('Remarks on the answer, one sentence each'),
  targets: z.array(Target).describe('The proposals'),
  samples: Samples,
  askedAt: Moment('When it was asked'),
  askedBy: PersonNamed.nullable().describe('The person who asked, or the creator of the token. Null: deleted'),
  askedVia: z.enum(['session', 'api_token', 'mcp']).describe('Asked in a session, with an API token, or by an MCP client'),
  replayed: z.boolean().describe('Whether it is sent to the model as context of the next question at its place'),
  draft: z.boolean().describe('Whether it belongs to a draft'),
  draftId: z.string().nullable().describe("The client's id of the draft. Null: none given"),
  draftScope: z.enum(['import', 'gaps', 'anyway']).nullable().describe('The scope of the draft. Null: none given'),
}).meta({id: 'Turn', description: 'A question and its answer, stored with an import'})

export const TurnPage = Answer({
  turns: z.array(Turn).describe('Newest first. A page may be shorter than `limit` and still have a next page'),
  nextCursor: NextCursor,
})

/** Refusals of routes that accept a place in an import. */
export const ofPlace = ['INVALID_PLACE', 'IMPORT_NOT_FOUND', 'FILE_GONE'] as const

export const turnExample = {
  id: 'trn_01k9m0v6f8e2r4t7w3y5z1a2b3',
  place: {kind: 'run'},
  route: 'chat',
  position: 0,
  question: 'Why were so many rows refused?',
  answer: 'The CRM has no such country for 12 of them.',
  notes: [],
  targets: [],
  samples: 'masked',
  askedAt: '2026-03-01T08:30:00.000Z',
  askedBy: {id: 'per_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Ana Example'},
  askedVia: 'session',
  replayed: true,
  draft: false,
  draftId: null,
  draftScope: null,
}
