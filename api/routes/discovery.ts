import {z} from 'zod'
import {chooseConnector} from '../../shared/crm/choose.ts'
import {Refusal} from '../../shared/errors.ts'
import {runDiscovery} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import {answerJob} from '../prefer.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'post',
    path: '/orgs/:org/discovery/run',
    access: {role: 'admin'},
    body: z.object({connectorId: z.string().optional()}),
    async handle(input) {
      const {db, queue, caller, body} = input
      const connector = await chooseConnector(db, {org: caller.org, id: body.connectorId})
      const job = await db.transaction(tx => enqueue(queue, runDiscovery, {org: caller.org, connector: connector.id}, {tx}))
      return answerJob(input, job, runDiscovery.name)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/discovery/latest',
    access: {role: 'operator'},
    query: z.object({connector: z.string().optional()}),
    async handle({db, caller, query}) {
      const connector = await chooseConnector(db, {org: caller.org, id: query.connector})
      const latest = await findLatestDiscovery(db, connector.id)
      if (!latest) throw new Refusal('NO_DISCOVERY', 'Nothing was discovered on this connection yet: run a discovery first')
      const {id, createdAt, seenAt, diff} = latest
      return {discovery: {id, createdAt, seenAt, connectorId: connector.id, diff, modules: await listDiscoveredModules(db, id)}}
    },
  }),
]
