import {z} from 'zod'
import {AnswersBody, answerQuestions} from '../../shared/mapping/questions/answer.ts'
import {readQuestions} from '../../shared/mapping/questions/list.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {OpenRowQuestion} from '../../sql/questions.ts'
import {Answer, Count, Id, Moment, NextCursor} from '../answers/common.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImportRun} from '../params.ts'
import {openRunRecordUrls} from '../record-urls.ts'
import {route} from '../route.ts'

const Kind = OpenRowQuestion.shape.kind.describe(
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
    choice: OpenRowQuestion.shape.choice.unwrap().describe('The choice'),
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

const [key, recordId] = ['9a0364b9e99bb480dd25e1f0284c8555', '5725767000000411001']
const question = {
  key,
  kind: 'match',
  flowId: 'accounts',
  module: 'Accounts',
  field: null,
  found: 2,
  candidates: [
    {id: recordId, $display_name: 'Example Ltd', $url: null, Account_Name: 'Example Ltd', Billing_City: 'Bilbao'},
    {id: '5725767000000411002', $display_name: 'Example Ltd', $url: null, Account_Name: 'Example Ltd', Billing_City: 'Lyon'},
  ],
  fields: [
    {apiName: 'Account_Name', label: 'Account Name', type: 'text'},
    {apiName: 'Billing_City', label: 'Billing City', type: 'text'},
  ],
  rows: 1,
  rowNumbers: [17],
  answer: null,
}
const path = '/orgs/:org/imports/:id/runs/:run/questions'

export default [
  route({
    method: 'get',
    path,
    operationId: 'readQuestions',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'List the questions of a run',
    description: 'Each question with its candidate records, read from the CRM now, and the rules in force.',
    answers: {200: Answer({questions: z.array(Question).describe('In a stable order'), rules, nextCursor: NextCursor})},
    refusals: [
      ...(['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'FILE_GONE', 'FROM_FUTURE', 'UNREADABLE', 'INVALID_CURSOR', 'MODULE_NOT_FOUND'] as const),
      ...(['CONNECTION_UNAVAILABLE', 'CONNECTION_THROTTLED', 'DAILY_ALLOWANCE_SPENT', 'CRM_REFUSED'] as const),
    ],
    example: {answer: {questions: [question], rules: [], nextCursor: null}},
    params: OfImportRun,
    query: z.object({limit: limitOf({usual: 20, most: 50}), cursor: Cursor}),
    async handle(input) {
      const {db, caller, params, query, request} = input
      const found = await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run})
      return readQuestions(input, found, query, {signal: request.signal, urlOf: await openRunRecordUrls(input, found)})
    },
  }),
  route({
    method: 'post',
    path,
    operationId: 'answerQuestions',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Answer questions of a run',
    description:
      'Does not change this run. A retry, or any later run of the import, applies the answers. The last answer to a question wins.',
    answers: {200: Answer({answered: Count('Answers stored'), rules})},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'FILE_GONE', 'FROM_FUTURE', 'UNREADABLE', 'NOT_FOUND'],
    example: {
      body: {answers: [{key, recordId}], rules: [{flowId: 'accounts', kind: 'match', choice: 'first'}]},
      answer: {answered: 1, rules: [{flowId: 'accounts', kind: 'match', field: null, choice: 'first'}]},
    },
    params: OfImportRun,
    body: AnswersBody,
    handle({db, caller: {org, person}, params, body}) {
      return db.transaction(async tx => {
        const found = await findImportRun(tx, {org, importId: params.id, runId: params.run})
        return answerQuestions(tx, found, {...body, person})
      })
    },
  }),
]
