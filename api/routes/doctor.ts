import {z} from 'zod'
import {findOwn} from '../../shared/crm/choose.ts'
import {assertWritable} from '../../shared/crm/connectors/writing.ts'
import {Refusal} from '../../shared/errors.ts'
import {runDoctor} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {findDoctorReport} from '../../sql/doctor-reports.ts'
import {Answer, JobWith} from '../answers/common.ts'
import {DoctorReport, DoctorResult} from '../answers/doctor.ts'
import {answerJob} from '../job-response.ts'
import {route} from '../route.ts'

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
      'Checks facts that the documents of the CRM leave open. It makes about 60 read calls of one API credit each, in at most four minutes. The connection then follows the results. With `write`, about 25 more calls create, change and delete test records called "Lading doctor". This needs a sandbox org; otherwise the job is refused with NOT_A_SANDBOX. One run at a time per connection.',
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
      const id = await db.transaction(tx => enqueue(queue, runDoctor, {org: caller.org, connector, write: body.write}, {tx}))
      return answerJob(input, id, runDoctor.name)
    },
  }),
]
