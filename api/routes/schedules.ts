import {z} from 'zod'
import {tagOf} from '../../shared/configuration/version.ts'
import {fireSchedule} from '../../shared/jobs.ts'
import {findVisible} from '../../shared/mapping/templates/find.ts'
import {fireNow} from '../../shared/schedules/fire.ts'
import {describeFiring, describeSchedules, findOwnSchedule, NewSchedule, ReplacedSchedule} from '../../shared/schedules/schedule.ts'
import {createSchedule, removeSchedule, replaceSchedule, setEnabled} from '../../shared/schedules/write.ts'
import {readPage} from '../../shared/security/cursor.ts'
import type {Db} from '../../sql/database.ts'
import {listFirings} from '../../sql/firings.ts'
import {listSchedules, type Schedule} from '../../sql/schedules.ts'
import type {MemberCaller} from '../access.ts'
import {Removed} from '../answers/common.ts'
import {firingExample} from '../answers/examples.ts'
import {templateAskerOf} from '../callers.ts'
import {conditionOf} from '../if-match.ts'
import {answerJob} from '../job-response.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfSchedule, OfTemplate} from '../params.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {Fired, FiringPage, newScheduleExample, SchedulePage, ScheduleRead, scheduleExample} from './schedules.answers.ts'

const Page = z.object({limit: limitOf({usual: 50, most: 200}), cursor: Cursor})

const named = (caller: MemberCaller, {id, schedule}: z.output<typeof OfSchedule>) => ({
  ...templateAskerOf(caller),
  template: id,
  id: schedule,
})

const answer = async (db: Db, schedule: Schedule, status = 200) => {
  const [described] = await describeSchedules(db, [schedule])
  return reply({status, json: {schedule: described}, headers: {etag: tagOf(schedule.version)}})
}

export default [
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/schedules',
    operationId: 'listSchedules',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'List the schedules of a template',
    answers: {200: SchedulePage},
    refusals: ['NOT_FOUND', 'INVALID_CURSOR'],
    example: {answer: {schedules: [scheduleExample], nextCursor: null}},
    params: OfTemplate,
    query: Page,
    async handle({db, config, caller, params: {id: template}, query}) {
      const {org} = caller
      await findVisible(db, {...templateAskerOf(caller), id: template})
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `schedules ${template}`, query, {
        as: String,
        read: ({place: after, limit}) => listSchedules(db, {org, template, after, limit}),
        placeOf: ({id}) => id,
      })
      return {schedules: await describeSchedules(db, page), nextCursor}
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/schedules',
    operationId: 'createSchedule',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Create a schedule',
    description:
      "The schedule acts as its creator, with the creator's current permissions. Credentials of its source are stored encrypted and never returned. The `ETag` is its version.",
    answers: {201: ScheduleRead},
    refusals: [
      'NOT_FOUND',
      'STAFF_VIEW',
      'LIMIT_SCHEDULES',
      'FEATURE_FREQUENT_SCHEDULES',
      'CONNECTION_NOT_FOUND',
      'CONNECTION_REQUIRED',
      ...(['NOT_CONFIGURED', 'SOURCE_REFUSED', 'TEMPLATE_NEEDS_FILES', 'DELETES_UNCONFIRMED', 'CONNECTION_ENDED'] as const),
    ],
    example: {body: newScheduleExample, answer: {schedule: scheduleExample}},
    params: OfTemplate,
    body: NewSchedule,
    async handle({db, config, caller, params: {id}, body}) {
      return answer(db, await createSchedule({db, config}, {...templateAskerOf(caller), template: id}, body), 201)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/schedules/:schedule',
    operationId: 'readSchedule',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Read a schedule',
    description: 'The `ETag` is its version.',
    answers: {200: ScheduleRead},
    refusals: ['NOT_FOUND'],
    example: {answer: {schedule: scheduleExample}},
    params: OfSchedule,
    handle: async ({db, caller, params}) => answer(db, await findOwnSchedule(db, named(caller, params))),
  }),

  route({
    method: 'put',
    path: '/orgs/:org/templates/:id/schedules/:schedule',
    operationId: 'replaceSchedule',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Replace a schedule',
    description:
      'An omitted credential stays, if address and user are unchanged. Enabling the schedule clears the error that stopped it. A firing that was already due still happens. A body that equals the schedule changes nothing. With `If-Match: "2"`, applies only if 2 is still the newest version.',
    answers: {200: ScheduleRead},
    refusals: [
      ...(['BAD_IF_MATCH', 'NOT_FOUND', 'SCHEDULE_CONFLICT', 'LIMIT_SCHEDULES', 'FEATURE_FREQUENT_SCHEDULES'] as const),
      ...(['CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'NOT_CONFIGURED'] as const),
      ...(['SOURCE_REFUSED', 'TEMPLATE_NEEDS_FILES', 'DELETES_UNCONFIRMED', 'CONNECTION_ENDED', 'IMPERSONATION_REFUSED'] as const),
    ],
    example: {
      body: {...newScheduleExample, source: {kind: 'https', url: 'https://files.example.org/leads.csv'}},
      answer: {schedule: scheduleExample},
    },
    params: OfSchedule,
    body: ReplacedSchedule,
    async handle({db, config, caller, params, body, request}) {
      const asked = {...named(caller, params), condition: conditionOf(request)}
      return answer(db, await replaceSchedule({db, config}, asked, body))
    },
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/templates/:id/schedules/:schedule',
    operationId: 'enableSchedule',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Turn a schedule on or off',
    description: 'Firings missed while it was off are not made up. With `If-Match: "2"`, applies only if 2 is still the newest version.',
    answers: {200: ScheduleRead},
    refusals: [
      ...(['BAD_IF_MATCH', 'NOT_FOUND', 'SCHEDULE_CONFLICT', 'LIMIT_SCHEDULES', 'FEATURE_FREQUENT_SCHEDULES'] as const),
      ...(['TEMPLATE_NEEDS_FILES', 'DELETES_UNCONFIRMED', 'CONNECTION_ENDED'] as const),
    ],
    example: {body: {enabled: true}, answer: {schedule: scheduleExample}},
    params: OfSchedule,
    body: z.strictObject({enabled: z.boolean().describe('Whether the schedule is on')}),
    async handle({db, caller, params, body, request}) {
      const asked = {...named(caller, params), condition: conditionOf(request)}
      return answer(db, await setEnabled({db}, asked, body.enabled))
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/templates/:id/schedules/:schedule',
    operationId: 'deleteSchedule',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Delete a schedule with its history',
    description: 'A run it has started continues. With `If-Match: "2"`, applies only if 2 is still the newest version.',
    answers: {200: Removed('sch', 'The schedule that was deleted')},
    refusals: ['BAD_IF_MATCH', 'NOT_FOUND', 'SCHEDULE_CONFLICT'],
    example: {answer: {removed: scheduleExample.id}},
    params: OfSchedule,
    async handle({db, caller, params, request}) {
      await removeSchedule({db}, {...named(caller, params), condition: conditionOf(request)})
      return {removed: params.schedule}
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/schedules/:schedule/run',
    operationId: 'runSchedule',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Fire a schedule now',
    description: 'Works whether the schedule is on or off. The job fetches the file and starts the run; `GET …/firings` shows the result.',
    answers: {200: Fired, 202: Fired},
    refusals: ['NOT_FOUND', 'IMPORT_RUNNING', 'BUSY'],
    example: {body: {again: true}},
    params: OfSchedule,
    body: z.strictObject({
      again: z.boolean().default(false).describe('Whether to import the file even if it has not changed since the last run'),
    }),
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const {firing, job} = await db.transaction(tx => fireNow(tx, queue, {...named(caller, params), ...body}))
      return answerJob(input, job, fireSchedule.name, {firing: describeFiring(firing)})
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/schedules/:schedule/firings',
    operationId: 'listFirings',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'List the firings of a schedule',
    answers: {200: FiringPage},
    refusals: ['NOT_FOUND', 'INVALID_CURSOR'],
    example: {answer: {firings: [firingExample], nextCursor: null}},
    params: OfSchedule,
    query: Page,
    async handle({db, config, caller, params, query}) {
      const {id: schedule} = await findOwnSchedule(db, named(caller, params))
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `firings ${schedule}`, query, {
        as: String,
        read: ({place: before, limit}) => listFirings(db, {schedule, before, limit}),
        placeOf: ({id}) => id,
      })
      return {firings: page.map(describeFiring), nextCursor}
    },
  }),
]
