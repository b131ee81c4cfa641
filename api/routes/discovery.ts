import {z} from 'zod'
import {chooseConnector} from '../../shared/crm/choose.ts'
import {Refusal} from '../../shared/errors.ts'
import {runDiscovery} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import {Answer, JobWith} from '../answers/common.ts'
import {Discovery, DiscoveryResult} from '../answers/discovery.ts'
import {answerJob} from '../job-response.ts'
import {route} from '../route.ts'

const ofRun = Answer({job: JobWith(DiscoveryResult)})

export default [
  route({
    method: 'post',
    path: '/orgs/:org/discovery/run',
    operationId: 'runDiscovery',
    tag: 'Discovery',
    access: {role: 'admin'},
    summary: 'Discover the modules and fields of a CRM',
    description:
      'One discovery runs at a time per connection. If one is running, its job is returned. `connectorId` is required only if the org has several connections.',
    answers: {200: ofRun, 202: ofRun},
    refusals: ['CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'BUSY'],
    example: {body: {connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3'}},
    body: z.object({connectorId: z.string().optional().describe('The connection. Default: the only one, or the only connected one')}),
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
    operationId: 'readDiscovery',
    tag: 'Discovery',
    access: {role: 'operator'},
    summary: 'Read the latest discovery',
    answers: {200: Answer({discovery: Discovery})},
    refusals: ['CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'NO_DISCOVERY'],
    query: z.object({connector: z.string().optional().describe('The connection. Default: the only one, or the only connected one')}),
    async handle({db, caller, query}) {
      const connector = await chooseConnector(db, {org: caller.org, id: query.connector})
      const latest = await findLatestDiscovery(db, connector.id)
      if (!latest) throw new Refusal('NO_DISCOVERY', 'This connection has no discovery yet. Run a discovery first')
      const {id, createdAt, seenAt, diff} = latest
      return {discovery: {id, createdAt, seenAt, connectorId: connector.id, diff, modules: await listDiscoveredModules(db, id)}}
    },
  }),
]
