import {z} from 'zod'
import {chooseConnector} from '../../shared/crm/choose.ts'
import {Refusal} from '../../shared/errors.ts'
import {runDiscovery} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {findLatestDiscovery, listDiscoveredModules, DiscoveredModule as ModuleRow} from '../../sql/discoveries.ts'
import {Answer, Count, Id, JobWith, Json, Moment} from '../answers/common.ts'
import {AssignmentRule, DiscoveredField, LayoutName} from '../answers/discovery.ts'
import {answerJob} from '../job-response.ts'
import {route} from '../route.ts'

const moduleFields = {
  apiName: DiscoveredField.shape.apiName,
  label: z.string().describe('The label, in the plural'),
  singular: z.string().describe('The label, in the singular'),
  id: z.string().describe('Its id at the CRM'),
  kind: ModuleRow.shape.kind.describe(
    '`default`: built into the CRM. `custom`: added by the CRM org. `subform`: holds the rows of a subform',
  ),
  creatable: z.boolean().describe("Whether the connection's user may create records"),
  editable: z.boolean().describe("Whether the connection's user may change records"),
  visible: z.boolean().describe("Whether the connection's user sees it"),
  subformOf: Answer({
    module: z.string().describe('The module of the parents'),
    field: z.string().describe('The field that holds the rows'),
  })
    .nullable()
    .describe('For `subform`: the parent module and field. Null otherwise'),
  namingField: z.string().nullable().describe('The field that holds the name of a record. Null: none'),
  unread: Answer({
    code: z.string().nullable().describe("The CRM's error code. Null: none"),
    status: z.int().nullable().describe('The HTTP status. Null: the CRM did not answer'),
    message: z.string().describe('What went wrong, as one sentence'),
  })
    .optional()
    .describe(
      'Why this discovery could not read the fields. The fields shown are then those of an earlier discovery, or none. Absent: the fields were read',
    ),
}

const writeOptions = {
  layouts: z
    .array(
      Answer({
        ...LayoutName.shape,
        fields: z.array(z.string()).describe('The fields on the layout. The CRM drops other fields of a record that names the layout'),
        required: z.array(z.string()).describe('The fields that the layout requires in a create, and the module does not'),
      }),
    )
    .optional()
    .describe('The active layouts. Absent: none were read'),
  assignmentRules: z
    .array(AssignmentRule)
    .optional()
    .describe('The rules that choose the owner of a new record. Absent: the CRM did not list them'),
  hasWriteOptions: z
    .literal(false)
    .optional()
    .describe('False: the destination has no automations, layouts, assignment rules and tags. Absent: it has them'),
}

const DiscoveredModule = Answer({
  ...moduleFields,
  ...writeOptions,
  fields: z.array(DiscoveredField).describe('Every field, in the order of the CRM'),
}).meta({
  id: 'DiscoveredModule',
})

const Changed = Answer({
  what: z.string().describe('The property'),
  before: Json('The value before'),
  after: Json('The value now'),
})

const names = (what: string) => z.array(z.string()).describe(what)

const DiscoveryDiff = Answer({
  since: Id('dis', 'The previous discovery').nullable().describe('The previous discovery. Null for the first, with the lists empty'),
  added: names('Added modules, by API name'),
  removed: names('Removed modules, by API name'),
  changed: z
    .array(
      Answer({
        module: z.string().describe('API name of the module'),
        changes: z.array(Changed).describe('Changes of the module itself'),
        fields: Answer({
          added: names('Added fields, by API name'),
          removed: names('Removed fields, by API name'),
          changed: z
            .array(
              Answer({field: z.string().describe('API name of the field'), changes: z.array(Changed).describe('Changes of the field')}),
            )
            .describe('Changed fields'),
        }).describe('Changes of its fields'),
      }),
    )
    .describe('Changed modules'),
}).meta({id: 'DiscoveryDiff'})

const Discovery = Answer({
  id: Id('dis', 'The discovery'),
  createdAt: Moment('When the discovery was made'),
  seenAt: Moment('When an automatic refresh last found the same state. `createdAt` if none did'),
  connectorId: Id('con', 'The connection'),
  diff: DiscoveryDiff.describe('Changes since the previous discovery'),
  modules: z.array(DiscoveredModule).describe('Every module, by API name'),
}).meta({id: 'Discovery'})

const DiscoveryResult = Answer({
  discovery: Id('dis', 'The discovery. An earlier one if an automatic refresh found no changes'),
  modules: Count('Modules found'),
  fields: Count('Fields found, in all modules'),
})

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
