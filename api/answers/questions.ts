import {z} from 'zod'
import {Answer, Count, Id, Moment, NextCursor} from './common.ts'

const Kind = z.enum(['match', 'lookup']).describe('`match`: which record a row means. `lookup`: which record a link means')

const Candidate = z
  .looseObject({id: z.string().describe("The CRM's id of the record")})
  .describe('A record as the CRM has it now: its name, and the fields its flow matches by, by their API names')

const Question = Answer({
  key: z.string().describe('What is to be chosen, the same for every row and run that asks it: 32 hexadecimal digits'),
  kind: Kind,
  flowId: z.string().describe('The flow that asks'),
  module: z.string().describe('API name of the module of the candidates'),
  field: z.string().nullable().describe('Of a lookup, API name of the field; null else'),
  found: Count('How many records fit'),
  candidates: z.array(Candidate).describe('Those the CRM still has: 20 at most, the oldest of more'),
  rows: Count('Rows that wait for it'),
  rowNumbers: z.array(z.int().positive()).describe('The numbers of the first 20 of them'),
  answer: Answer({
    choice: z.enum(['record', 'create', 'skip', 'first', 'ask']).describe('What was chosen'),
    recordId: z.string().nullable().describe("The CRM's id of the record that was chosen; null: none was"),
    by: Id('per', 'Who chose').nullable().describe('Who chose; null: they were erased'),
    at: Moment('When'),
  })
    .nullable()
    .describe('What was chosen since the run began; null: nothing'),
}).meta({id: 'Question', description: 'What a run asks its people, with the rows that wait for it'})

const rules = z
  .array(
    Answer({
      flowId: z.string().describe('The flow it is for'),
      kind: Kind,
      choice: z.enum(['create', 'skip', 'first']).describe('What is done. `first`: the oldest of the records is taken'),
    }),
  )
  .describe('What holds for questions without an answer of their own')

export const Questions = Answer({questions: z.array(Question).describe('In a lasting order'), rules, nextCursor: NextCursor})

export const Answered = Answer({answered: Count('Answers that were kept'), rules})
