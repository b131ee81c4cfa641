import {z} from 'zod'
import {describeRun} from '../../shared/runs/describe.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import {takeLease} from '../../shared/runs/outside.ts'
import {ProgressBody, tellProgress} from '../../shared/runs/progress.ts'
import {assertEntries, EntriesBody, logEntries} from '../../shared/writes/entries.ts'
import {askerOf} from '../ask-write.ts'
import {route} from '../route.ts'

const OfRun = z.object({runId: z.string()})

/** What an engine outside this service tells of its run, which lives by these calls and by its writes. */
export default [
  route({
    method: 'post',
    path: '/entitlements/runs/:runId/lease',
    access: {role: 'operator'},
    params: OfRun,
    async handle({db, caller, params: {runId}}) {
      return {runId, ...(await db.transaction(tx => takeLease(tx, askerOf(caller), runId)))}
    },
  }),

  route({
    method: 'post',
    path: '/entitlements/runs/:runId/entries',
    access: {role: 'operator'},
    params: OfRun,
    body: EntriesBody,
    handle({db, caller, params: {runId}, body}) {
      assertEntries(body)
      return db.transaction(tx => logEntries(tx, askerOf(caller), {runId, ...body}))
    },
  }),

  route({
    method: 'post',
    path: '/entitlements/runs/:runId/progress',
    access: {role: 'operator'},
    params: OfRun,
    body: ProgressBody,
    async handle({db, caller, params: {runId}, body}) {
      await db.transaction(tx => tellProgress(tx, askerOf(caller), {runId, ...body}))
      return {run: describeRun(await findOrgRun(db, {org: caller.org, runId}))}
    },
  }),
]
