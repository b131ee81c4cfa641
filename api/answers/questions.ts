import {z} from 'zod'
import {Answer, Count, Id, Moment, NextCursor} from './common.ts'

const Kind = z
  .enum(['match', 'lookup', 'edit'])
  .describe(
    '`match`: which record a row matches. `lookup`: which record a lookup refers to. `edit`: whether to overwrite a value that a person changed',
  )

const Candidate = z
  .looseObject({id: z.string().describe("The CRM's id of the record")})
  .describe(
    'A record as it is in the CRM now: its name, the match fields and the mapped fields of the flow, at most 50, and when it was created, by API name. `$url`: its page at the CRM; null if it is not known',
  )

const Question = Answer({
  key: z.string().describe('Key of the question, the same for all rows and runs: 32 hexadecimal digits'),
  kind: Kind,
  flowId: z.string().describe('The flow of the question'),
  module: z.string().describe('API name of the module of the candidates'),
  field: z.string().nullable().describe('For a lookup or an edit, API name of the field. Null otherwise'),
  found: Count('Number of matching records; for an edit, 1'),
  candidates: z.array(Candidate).describe('Candidates that still exist: the oldest, at most 20'),
  fields: z
    .array(
      Answer({
        apiName: z.string().describe('API name of the field'),
        label: z.string().describe('Its label in the CRM'),
        type: z.string().describe('Its type'),
      }),
    )
    .describe('The fields of the candidates'),
  rows: Count('Rows that wait for the answer'),
  rowNumbers: z.array(z.int().positive()).describe('The numbers of the first 20 of them'),
  answer: Answer({
    choice: z.enum(['record', 'create', 'skip', 'first', 'ask', 'overwrite', 'keep']).describe('The choice'),
    recordId: z.string().nullable().describe("The CRM's id of the chosen record. Null: none"),
    by: Id('per', 'The person').nullable().describe('The person who chose. Null: erased'),
    at: Moment('When it was answered'),
  })
    .nullable()
    .describe('The answer since the run began. Null: none'),
}).meta({id: 'Question', description: 'A question of a run, with the rows that wait for its answer'})

const rules = z
  .array(
    Answer({
      flowId: z.string().describe('The flow'),
      kind: Kind,
      field: z.string().nullable().describe('For an edit, API name of the field whose questions the rule answers. Null: all questions'),
      choice: z.enum(['create', 'skip', 'first', 'overwrite', 'keep']).describe('The default choice. `first`: use the oldest record'),
    }),
  )
  .describe('Rules for questions without an answer')

export const Questions = Answer({questions: z.array(Question).describe('In a stable order'), rules, nextCursor: NextCursor})

export const Answered = Answer({answered: Count('Answers stored'), rules})
