import {z} from 'zod'
import {PRICES} from '../../shared/ai/credits.ts'
import {Answer, Count, Json, Moment} from './common.ts'
import {Samples, turn} from './conversations.ts'
import {Balance} from './plans.ts'

const confidence = z.number().min(0).max(1).describe('How sure it is, 0 to 1; under 0.6 a person would look twice')
const why = z
  .array(z.enum(['accepted', 'label', 'apiName', 'localLabel', 'alias', 'similar', 'fingerprint', 'options', 'model']))
  .describe(
    'By what: the org took it before, a name of its own, a word known for it, a name alike, its values (`fingerprint`), its options, or the model’s choice',
  )
const fieldName = 'The API name of the field'
const module = 'The API name of its module'
const credits = Count('AI credits it cost')

const Proposal = Answer({
  column: z.string().describe('The column'),
  field: z.string().nullable().describe(`${fieldName}; null: none fits well enough`),
  module: z.string().nullable().describe(`${module}; null as \`field\` is`),
  confidence,
  why,
  by: z.enum(['local', 'model']).describe('Whose proposal it is: that of the matcher here, or that of the model'),
  note: z.string().nullable().describe('Why, in a sentence of the model; null: it is not the model’s'),
  candidates: z
    .array(
      Answer({
        field: z.string().describe(fieldName),
        module: z.string().nullable().describe(module),
        confidence,
        why,
      }),
    )
    .describe('What else it could be, the likeliest first, the proposal among them; four at most'),
}).meta({id: 'Proposal', description: 'Where a column belongs'})

export const AutoMapped = Answer({
  proposals: z.array(Proposal).describe('One for each column, in their order. No field is proposed twice'),
  model: z
    .enum(['not_needed', 'not_configured', 'no_credits', 'unavailable', 'used'])
    .describe('What the model had to do with it. `unavailable`: it failed, and cost nothing'),
  samples: Samples,
  credits,
  turn,
})

const row = z.int().positive().describe('Which of the rows that were sent, counted from 1')

/** Of an expression that was run on true rows. */
const Tried = z.union([
  Answer({
    row,
    value: Json('What it gave'),
    problem: Answer({
      code: z.string().meta({description: 'What kind of problem', examples: ['INVALID_DATE']}),
      message: z.string().describe('What is wrong, for a person'),
    })
      .nullable()
      .describe('Why the field does not take that; null: it does'),
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
      message: z.string().describe('What is wrong, for a person'),
      line: z.int().positive().nullable().describe('Where in the expression, counted from 1; null: nowhere in it'),
      column: z.int().positive().nullable().describe('Where in the line, counted from 1; null: nowhere in it'),
    }).describe('It gave nothing'),
  }),
])

export const Formula = Answer({
  expression: z.string().nullable().describe('The JavaScript expression; null: the model says that none can do it'),
  explanation: z.string().describe('What it does, or why it cannot be done'),
  results: z.array(Tried).describe('What it gave for each of the rows that were sent'),
  attempts: z.int().positive().describe('How often the model was asked, three times at most'),
  samples: Samples,
  credits,
  balance: Balance.describe('What the org has of AI credits now'),
  turn,
})

const used = {
  requests: Count('Requests, those that failed among them'),
  failed: Count('Requests that failed or were broken off'),
  inputTokens: Count('Tokens the model read'),
  outputTokens: Count('Tokens the model wrote'),
  credits,
}
const feature = z.enum(Object.keys(PRICES) as (keyof typeof PRICES)[]).describe('What the model was asked for')

export const AiUsage = Answer({
  periodStart: Moment('When the period began'),
  periodEnd: Moment('When it ends'),
  credits: Balance.omit({periodStart: true, periodEnd: true})
    .extend({spent: Count('AI credits spent in the period')})
    .describe('What the org has of AI credits'),
  byFeature: z
    .array(
      Answer({
        feature,
        ...used,
        prices: Answer({
          input: z.number().describe('Credits for a thousand tokens that are read'),
          output: z.number().describe('Credits for a thousand tokens that are written'),
        }).describe('What it costs; a request takes whole credits'),
      }),
    )
    .describe('Every feature, those that were not used among them'),
})

export const AiDays = Answer({
  usage: z
    .array(Answer({day: z.iso.date().describe('The day in UTC'), feature, ...used}))
    .describe('By day and feature, the newest day first; days without any are not named'),
})

const chatEvents = `A comment every 15 seconds keeps the connection open. The data of each event is JSON:

| Event | Data |
|---|---|
| \`text\` | \`{text}\`: the next words of the answer |
| \`tool\` | \`{name, input, id}\`: the model looks something up by \`get_schema\`, \`propose_mapping\`, \`test_expression\` or \`explain_issue\`; at most five rounds |
| \`tool_result\` | \`{name, id, output}\`: what it was told, which is what left the server |
| \`done\` | \`{turn, notes, samples, usage: {inputTokens, outputTokens}, credits, balance}\`: the last one. It is paid for and kept |
| \`error\` | \`{error, code}\`, as a refusal: the last one. It broke off, and costs nothing |`

export const ChatStream = {type: 'text/event-stream', what: chatEvents}

/** What stands between a question and the model's answer. What the model fails with costs nothing. */
export const ofModel = [
  ...(['NOT_CONFIGURED', 'CREDITS_EXHAUSTED', 'STATUS_SUSPENDED', 'STATUS_PAST_DUE'] as const),
  ...(['MODEL_ANSWER_INVALID', 'MODEL_UNAVAILABLE'] as const),
]

const email = {field: 'Email', module: 'Leads', confidence: 0.94, why: ['label' as const, 'fingerprint' as const]}
const lastName = {field: 'Last_Name', module: 'Leads', confidence: 0.7, why: ['model' as const]}

export const autoMapExample = {
  proposals: [
    {column: 'Name', ...lastName, by: 'model', note: 'The column holds whole names', candidates: [lastName]},
    {column: 'E-mail', ...email, by: 'local', note: null, candidates: [email]},
  ],
  ...{model: 'used', samples: 'masked', credits: 1, turn: null},
}

const balance = {included: 500, purchased: 0, reserved: 0, available: 499}
const period = {periodStart: '2026-03-01T00:00:00.000Z', periodEnd: '2026-04-01T00:00:00.000Z'}

export const formulaExample = {
  ...{expression: "value.split(' ').at(-1)", explanation: 'Takes the last word of the cell.', attempts: 1, samples: 'masked', credits: 1},
  ...{results: [{row: 1, value: 'Example', problem: null}], balance: {...balance, ...period}, turn: null},
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
