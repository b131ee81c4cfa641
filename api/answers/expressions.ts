import {z} from 'zod'
import {Answer, Json} from './common.ts'

const Place = {
  line: z.int().nullable().describe('Line in the expression, from 1. Null: unknown'),
  column: z.int().nullable().describe('Column in the line, from 1. Null: unknown'),
}

const Row = z.int().positive().describe('Number of the sample row, from 1')

/** The result or error of one sample row. */
const Tried = z.union([
  Answer({
    row: Row,
    value: Json('The result. Absent if it is `undefined`').optional(),
    problem: Answer({
      code: z.string().describe('The code a run would use, such as `INVALID_VALUE`'),
      message: z.string().describe('What the field accepts instead'),
    })
      .nullable()
      .describe('Why the field does not accept the result. Null: it does, or no field was given'),
  }),
  Answer({
    row: Row,
    error: Answer({
      code: z.string().describe('Such as `EXPRESSION_THROWN`'),
      message: z.string().describe('What went wrong'),
      ...Place,
    }).describe('Why there is no result'),
  }),
])

export const ExpressionTest = Answer({
  compiles: z.boolean().describe('Whether the expression compiles'),
  issue: Answer({message: z.string().describe('The compilation error'), ...Place})
    .nullable()
    .describe('Why it does not compile. Null: it does'),
  results: z.array(Tried).describe('One entry per row, in order. Empty if it does not compile'),
}).meta({id: 'ExpressionTest', description: 'Results of an expression on sample rows'})

export const ExpressionHelpers = Answer({
  helpers: z
    .array(
      Answer({
        name: z.string().describe('The name, called as `helpers.name`'),
        call: z.string().meta({description: 'How it is called', examples: ["split(text, separator = ',', at?)"]}),
        description: z.string().describe('What it does, in words'),
      }),
    )
    .describe('All helpers'),
})
