import {z} from 'zod'
import {AnswersBody, answerQuestions} from '../../shared/mapping/questions/answer.ts'
import {readQuestions} from '../../shared/mapping/questions/list.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {Answered, Questions} from '../answers/questions.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImportRun} from '../params.ts'
import {openRunRecordUrls} from '../record-urls.ts'
import {route} from '../route.ts'

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
    answers: {200: Questions},
    refusals: [
      ...(['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'FILE_GONE', 'INVALID_CURSOR', 'MODULE_NOT_FOUND'] as const),
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
    answers: {200: Answered},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'FILE_GONE', 'NOT_FOUND'],
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
