import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {runImport} from '../../shared/jobs.ts'
import {isAtLeast} from '../../shared/people/roles.ts'
import {cancelRun} from '../../shared/runs/cancel.ts'
import {describeRun} from '../../shared/runs/describe.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {readRun} from '../../shared/runs/names.ts'
import {StartBody, startRun} from '../../shared/runs/start.ts'
import {findImport} from '../../sql/imports.ts'
import {listRuns} from '../../sql/runs.ts'
import {limitOf} from '../page.ts'
import {answerJob} from '../prefer.ts'
import {route} from '../route.ts'

const OfImport = z.object({org: z.string(), id: z.string()})
const OfRun = z.object({org: z.string(), id: z.string(), run: z.string()})

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs',
    access: {role: 'operator'},
    params: OfImport,
    body: StartBody,
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const {org, person, role} = caller
      const start = {org, person, admin: isAtLeast(role, 'admin'), importId: params.id, ...body}
      const {runId, job} = await db.transaction(tx => startRun(tx, queue, start))
      return answerJob(input, job, runImport.name, {run: describeRun(await findImportRun(db, {org, importId: params.id, runId}))})
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs',
    access: {role: 'operator'},
    params: OfImport,
    query: z.object({limit: limitOf({usual: 50, most: 200})}),
    async handle({db, caller: {org}, params: {id}, query: {limit}}) {
      const found = await findImport(db, {org, id})
      if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
      const runs = await listRuns(db, {importNo: found.no, limit})
      return {
        runs: await Promise.all(runs.map(async run => describeRun({run, importId: id, ...(await readRun(db, run))}))),
      }
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run',
    access: {role: 'operator'},
    params: OfRun,
    async handle({db, caller: {org}, params}) {
      return {run: describeRun(await findImportRun(db, {org, importId: params.id, runId: params.run}))}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs/:run/cancel',
    access: {role: 'operator'},
    params: OfRun,
    async handle({db, caller: {org}, params}) {
      const named = {org, importId: params.id, runId: params.run}
      await cancelRun(db, (await findImportRun(db, named)).run)
      return {run: describeRun(await findImportRun(db, named))}
    },
  }),
]
