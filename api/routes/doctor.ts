import {z} from 'zod'
import {findOwn} from '../../shared/crm/choose.ts'
import {assertWritable} from '../../shared/crm/connectors/writing.ts'
import {enqueueDoctor} from '../../shared/crm/doctor/enqueue-doctor.ts'
import {Refusal} from '../../shared/errors.ts'
import {runDoctor} from '../../shared/jobs.ts'
import {findDoctorReport} from '../../sql/doctor-reports.ts'
import {Answer, Count, JobWith, Moment} from '../answers/common.ts'
import {answerJob} from '../job-response.ts'
import {route} from '../route.ts'

const Probe = Answer({
  id: z.string().meta({description: 'Stable id of the fact', examples: ['coql.inSize']}),
  fact: z.string().describe('The fact that was checked, in words'),
  expected: z.string().describe('What the CRM is expected to do'),
  seen: z.string().describe('What the CRM did'),
  verdict: z
    .enum(['expected', 'different', 'unknown'])
    .describe(
      '`expected`: the CRM behaved as expected. `different`: it did not. `unknown`: it could not be checked, for example because the org has no record or the user lacks a permission',
    ),
  consequence: z.string().describe('What the result means for imports'),
}).meta({id: 'Probe'})

const Capabilities = Answer({
  coqlInSize: z.int().describe('Most values in one `in` of a COQL query'),
  coqlInLists: z.int().describe('Most lists of values, each in one `in`, in one COQL query'),
  coqlColumns: z.int().describe('Most columns in one COQL query'),
  coqlQuote: z.enum(['doubled', 'backslash']).describe('How a COQL query escapes a quote inside a text'),
  coqlWindow: z.enum(['between-offset', 'between-z', 'pair-offset', 'pair-z']).describe('How a COQL query writes a time range'),
  coqlLagSeconds: z
    .number()
    .describe('Longest time in seconds after which a query found a new record. Runs wait twice as long. 0: never measured'),
  unmodifiedSince: z
    .enum(['whole', 'record', 'ignored'])
    .nullable()
    .describe(
      'What the CRM refuses if one record of a batch changed after If-Unmodified-Since: the whole batch, the record, or nothing. Null: never checked',
    ),
}).meta({id: 'Capabilities', description: 'How the adapter calls the CRM on this connection'})

const DoctorReport = Answer({
  ranAt: Moment('When the doctor ran'),
  write: z.boolean().describe('Whether the writing probes ran too'),
  credits: Count('CRM API credits that the run cost'),
  probes: z.array(Probe).describe('The probes, in the order they ran'),
  capabilities: Capabilities,
}).meta({id: 'DoctorReport'})

const DoctorResult = Answer({
  expected: Count('Probes with the verdict `expected`'),
  different: Count('Probes with the verdict `different`'),
  unknown: Count('Probes with the verdict `unknown`'),
  credits: Count('CRM API credits that the run cost'),
}).meta({id: 'DoctorResult'})

const OfConnector = z.object({org: z.string(), id: z.string().describe('The connection (`con_`)')})
const ofRun = Answer({job: JobWith(DoctorResult)})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/doctor',
    operationId: 'readDoctorReport',
    tag: 'Connections',
    access: {role: 'admin'},
    summary: 'Read the newest doctor report',
    description: 'Makes no call to the CRM. `report` is null before the first run.',
    answers: {200: Answer({report: DoctorReport.nullable().describe('The newest report. Null: the doctor has not run yet')})},
    refusals: ['NOT_FOUND'],
    params: OfConnector,
    async handle({db, caller, params}) {
      const connector = await findOwn(db, {org: caller.org, id: params.id})
      return {report: await findDoctorReport(db, connector.id)}
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/connectors/:id/doctor',
    operationId: 'runDoctor',
    tag: 'Connections',
    access: {role: 'admin'},
    summary: 'Check how the CRM of a connection behaves',
    description:
      'Checks facts that the documents of the CRM leave open. It makes about 60 read calls of one API credit each, in at most four minutes. The connection then follows the results. With `write`, about 25 more calls create, change and delete test records named "Lading doctor …", or with the last characters of this name in a short field. This needs a sandbox org; otherwise the job is refused with NOT_A_SANDBOX. One run at a time per connection: until it ends, the same request answers its job, and a request with another `write` is refused with BUSY.',
    answers: {200: ofRun, 202: ofRun},
    refusals: ['NOT_FOUND', 'NOT_OFFERED', 'WRITES_PAUSED', 'BUSY'],
    example: {body: {write: false}},
    params: OfConnector,
    body: z.object({write: z.boolean().default(false).describe('Whether to run the writing probes too')}),
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const {id: connector, kind} = await findOwn(db, {org: caller.org, id: params.id})
      if (kind !== 'zoho')
        throw new Refusal('NOT_OFFERED', `The doctor cannot check connections of the kind ${kind}. Choose a connection of the kind zoho`)
      if (body.write) await assertWritable(db, {org: caller.org, connector})
      const id = await enqueueDoctor({db, queue}, {org: caller.org, connector, write: body.write})
      return answerJob(input, id, runDoctor.name)
    },
  }),
]
