import {z} from 'zod'
import {Answer, Json} from './common.ts'

const Place = {
  line: z.int().nullable().describe('The line in the expression, from 1; null: not known'),
  column: z.int().nullable().describe('The column in that line, from 1; null: not known'),
}

const Row = z.int().positive().describe('The row among those sent, from 1')

/** One sample row: what came out, or why nothing did. */
const Tried = z.union([
  Answer({
    row: Row,
    value: Json('What the expression gave; left out where that was `undefined`').optional(),
    problem: Answer({
      code: z.string().describe('As a run would say it, such as `INVALID_VALUE`'),
      message: z.string().describe('What the field takes instead'),
    })
      .nullable()
      .describe('Why the field would not take the value; null: it would, or none was named'),
  }),
  Answer({
    row: Row,
    error: Answer({
      code: z.string().describe('Such as `EXPRESSION_THROWN`'),
      message: z.string().describe('What went wrong'),
      ...Place,
    }).describe('Why nothing came out'),
  }),
])

export const ExpressionTest = Answer({
  compiles: z.boolean().describe('Whether it could be run at all'),
  issue: Answer({message: z.string().describe('What does not compile'), ...Place})
    .nullable()
    .describe('Why it does not compile; null: it does'),
  results: z.array(Tried).describe('One for each row, in their order; none where it does not compile'),
}).meta({id: 'ExpressionTest', description: 'What an expression gives on sample rows'})
