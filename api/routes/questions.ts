import {z} from 'zod'
import {AnswersBody, answerQuestions} from '../../shared/questions/answer.ts'
import {readQuestions} from '../../shared/questions/list.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const OfRun = z.object({org: z.string(), id: z.string(), run: z.string()})
const path = '/orgs/:org/imports/:id/runs/:run/questions'

export default [
  route({
    method: 'get',
    path,
    access: {role: 'operator'},
    params: OfRun,
    query: z.object({limit: limitOf({usual: 20, most: 50}), cursor: z.string().optional()}),
    async handle(input) {
      const {db, caller, params, query, request} = input
      return readQuestions(input, await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run}), query, request)
    },
  }),
  route({
    method: 'post',
    path,
    access: {role: 'operator'},
    params: OfRun,
    body: AnswersBody,
    handle({db, caller: {org, person}, params, body}) {
      return db.transaction(async tx => {
        const found = await findImportRun(tx, {org, importId: params.id, runId: params.run})
        return answerQuestions(tx, found, {...body, person})
      })
    },
  }),
]
