import {z} from 'zod'
import {PRICES} from '../../shared/assistant/credits.ts'
import {Answer, Count, Id, Json, Moment} from '../answers/common.ts'
import {Balance} from '../answers/plans.ts'
import {Samples} from '../answers/samples.ts'

const confidence = z.number().min(0).max(1).describe('Confidence, 0 to 1. Review proposals below 0.6')

const why = z
  .array(z.enum(['accepted', 'label', 'apiName', 'localLabel', 'alias', 'similar', 'fingerprint', 'options', 'model']))
  .describe(
    'Evidence for the proposal: accepted by the org before, a name of the field, a known alias, a similar name, its values (`fingerprint`), its options, or the choice of the model',
  )

const fieldName = 'The API name of the field'
const module = 'The API name of its module'
const credits = Count('AI credits it cost')

const KeptTurn = Answer({
  id: Id('trn', 'The turn'),
  position: z.int().nonnegative().describe('Position in the conversation, from 0'),
}).meta({id: 'KeptTurn', description: 'Where an answer is stored'})

const turn = KeptTurn.nullable().describe('Where the answer is stored. Null: not requested, or its import or file was deleted')

const Proposal = Answer({
  column: z.string().describe('The column'),
  field: z.string().nullable().describe(`${fieldName}. Null: no field fits well enough`),
  module: z.string().nullable().describe(`${module}. Null if \`field\` is null`),
  confidence,
  why,
  by: z.enum(['local', 'model']).describe('`local`: proposed by the matcher of this service. `model`: proposed by the AI model'),
  note: z.string().nullable().describe('The reason given by the model. Null: not proposed by the model'),
  candidates: z
    .array(
      Answer({
        field: z.string().describe(fieldName),
        module: z.string().nullable().describe(module),
        confidence,
        why,
      }),
    )
    .describe('Candidate fields, likeliest first, the proposal included; at most four'),
}).meta({id: 'Proposal', description: 'A proposed field for a column'})

export const AutoMapped = Answer({
  proposals: z.array(Proposal).describe('One entry per column, in column order. No field is proposed twice'),
  model: z
    .enum(['not_needed', 'not_configured', 'no_credits', 'not_allowed', 'unavailable', 'used'])
    .describe(
      'Whether the model was used. `not_allowed`: the org is suspended or a payment is late. `unavailable`: it failed and cost nothing',
    ),
  samples: Samples,
  credits,
  turn,
})

const row = z.int().positive().describe('Number of the sample row, from 1')

const Tried = z.union([
  Answer({
    row,
    value: Json('The result'),
    problem: Answer({
      code: z.string().meta({description: 'The kind of problem', examples: ['INVALID_DATE']}),
      message: z.string().describe('What is wrong, in words'),
    })
      .nullable()
      .describe('Why the field does not accept the result. Null: it does'),
  }),
  Answer({
    row,
    error: Answer({
      code: z
        .enum([
          ...(['EXPRESSION_SYNTAX', 'EXPRESSION_REFUSED', 'EXPRESSION_THROWN', 'EXPRESSION_VALUE', 'EXPRESSION_TOO_LARGE'] as const),
          ...(['EXPRESSION_TIMEOUT', 'EXPRESSION_MEMORY', 'EXPRESSION_STACK', 'SANDBOX_UNAVAILABLE'] as const),
        ])
        .describe('How it failed'),
      message: z.string().describe('What is wrong, in words'),
      line: z.int().positive().nullable().describe('Line in the expression, from 1. Null: unknown'),
      column: z.int().positive().nullable().describe('Column in the line, from 1. Null: unknown'),
    }).describe('Why there is no result'),
  }),
])

export const Formula = Answer({
  expression: z.string().nullable().describe('The JavaScript expression. Null: the model found no expression for this'),
  explanation: z.string().describe('What the expression does, or why there is none'),
  results: z.array(Tried).describe('The result for each sample row'),
  attempts: z.int().positive().describe('Attempts of the model, at most three'),
  samples: Samples,
  credits,
  balance: Balance.describe('The current AI credits of the org'),
  turn,
})

const used = {
  requests: Count('Requests, failed ones included'),
  failed: Count('Requests that failed or were aborted'),
  inputTokens: Count('Tokens the model read'),
  outputTokens: Count('Tokens the model wrote'),
  credits,
}

const feature = z.enum(Object.keys(PRICES) as (keyof typeof PRICES)[]).describe('The AI feature')

export const AiUsage = Answer({
  periodStart: Moment('When the period began'),
  periodEnd: Moment('When it ends'),
  credits: Balance.omit({periodStart: true, periodEnd: true})
    .extend({spent: Count('AI credits spent in the period')})
    .describe('The AI credits of the org'),
  byFeature: z
    .array(
      Answer({
        feature,
        ...used,
        prices: Answer({
          input: z.number().describe('Credits per 1,000 input tokens'),
          output: z.number().describe('Credits per 1,000 output tokens'),
        }).describe('The prices. Each request is rounded up to whole credits'),
      }),
    )
    .describe('All features, unused ones included'),
})

export const AiDays = Answer({
  usage: z
    .array(Answer({day: z.iso.date().describe('The day in UTC'), feature, ...used}))
    .describe('By day and feature, newest day first. Days without usage are omitted'),
})

const email = {field: 'Email', module: 'Leads', confidence: 0.94, why: ['label' as const, 'fingerprint' as const]}
const lastName = {field: 'Last_Name', module: 'Leads', confidence: 0.7, why: ['model' as const]}

export const autoMapExample = {
  proposals: [
    {column: 'Name', ...lastName, by: 'model', note: 'The column holds whole names', candidates: [lastName]},
    {column: 'E-mail', ...email, by: 'local', note: null, candidates: [email]},
  ],
  model: 'used',
  samples: 'masked',
  credits: 1,
  turn: null,
}

const balance = {included: 500, purchased: 0, reserved: 0, available: 499}
const period = {periodStart: '2026-03-01T00:00:00.000Z', periodEnd: '2026-04-01T00:00:00.000Z'}

export const formulaExample = {
  expression: "value.split(' ').at(-1)",
  explanation: 'Takes the last word of the cell.',
  attempts: 1,
  samples: 'masked',
  credits: 1,
  results: [{row: 1, value: 'Example', problem: null}],
  balance: {...balance, ...period},
  turn: null,
}

const unused = {requests: 0, failed: 0, inputTokens: 0, outputTokens: 0, credits: 0, prices: {input: 0.25, output: 1}}

export const usageExample = {
  ...period,
  credits: {...balance, spent: 1},
  byFeature: [
    {feature: 'auto_map', ...unused, requests: 1, inputTokens: 1_800, outputTokens: 60, credits: 1},
    {feature: 'formula', ...unused},
    {feature: 'chat', ...unused},
  ],
}
