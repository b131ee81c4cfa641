import {z} from 'zod'
import {cancelRun} from '../../shared/runs/cancel.ts'
import {describeRun} from '../../shared/runs/describe.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import {readLog} from '../../shared/runs/log.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const OfRun = z.object({org: z.string(), run: z.string()})

/** Any run of the org, also one that belongs to no import. */
export default [
  route({
    method: 'get',
    path: '/orgs/:org/runs/:run',
    access: {role: 'operator'},
    params: OfRun,
    async handle({db, caller: {org}, params}) {
      return {run: describeRun(await findOrgRun(db, {org, runId: params.run}))}
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/runs/:run/records',
    access: {role: 'operator'},
    params: OfRun,
    query: z.object({limit: limitOf({usual: 500, most: 1000}), cursor: z.string().optional()}),
    async handle(input) {
      const {db, caller, params, query} = input
      return readLog(input, await findOrgRun(db, {org: caller.org, runId: params.run}), query)
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/runs/:run/cancel',
    access: {role: 'operator'},
    params: OfRun,
    async handle({db, caller: {org}, params}) {
      const named = {org, runId: params.run}
      await cancelRun(db, (await findOrgRun(db, named)).run)
      return {run: describeRun(await findOrgRun(db, named))}
    },
  }),
]
