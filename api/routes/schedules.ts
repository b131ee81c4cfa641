import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {fireSchedule} from '../../shared/jobs.ts'
import {tagOf} from '../../shared/registry/version.ts'
import {fireNow} from '../../shared/schedules/fire.ts'
import {describeFiring, describeSchedules, findOwnSchedule, NewSchedule, ReplacedSchedule} from '../../shared/schedules/schedule.ts'
import {createSchedule, removeSchedule, replaceSchedule, setEnabled} from '../../shared/schedules/write.ts'
import {findVisible} from '../../shared/templates/find.ts'
import type {Db} from '../../sql/database.ts'
import {listFirings} from '../../sql/firings.ts'
import {listSchedules, type Schedule} from '../../sql/schedules.ts'
import type {Member} from '../access.ts'
import {
  Fired,
  FiringPage,
  firingExample,
  newScheduleExample,
  SchedulePage,
  ScheduleRead,
  ScheduleRemoved,
  scheduleExample,
} from '../answers/schedules.ts'
import {templateAskerOf} from '../askers.ts'
import {conditionOf} from '../if-match.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfSchedule, OfTemplate} from '../params.ts'
import {answerJob} from '../prefer.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const Page = z.object({limit: limitOf({usual: 50, most: 200}), cursor: Cursor})

const named = (caller: Member, {id, schedule}: z.output<typeof OfSchedule>) => ({...templateAskerOf(caller), template: id, id: schedule})

/** With its version, which a write is made against. */
const answer = async (db: Db, schedule: Schedule, status = 200) => {
  const [described] = await describeSchedules(db, [schedule])
  return reply({status, json: {schedule: described}, headers: {etag: tagOf(schedule.version)}})
}

export default [
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/schedules',
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
    access: {role: 'builder'},
    summary: 'Make a schedule',
    description:
      'It acts as whoever makes it, and does what they may do at the moment. Credentials of its source are kept sealed and never told. The `ETag` is its version.',
    answers: {201: ScheduleRead},
    refusals: [
      'NOT_FOUND',
      'STAFF_VIEW',
      'LIMIT_SCHEDULES',
      'FEATURE_FREQUENT_SCHEDULES',
      'CONNECTION_NOT_FOUND',
      'CONNECTION_REQUIRED',
      'NOT_CONFIGURED',
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
    access: {role: 'builder'},
    summary: 'Replace a schedule',
    description:
      'A credential that is left out stays, for the same place and user alone. Turned on, what stopped it is taken to be mended. What was due before is fired still. With `If-Match: "2"` it is refused where 2 is not its newest version any more.',
    answers: {200: ScheduleRead},
    refusals: [
      ...(['BAD_IF_MATCH', 'NOT_FOUND', 'SCHEDULE_CONFLICT', 'LIMIT_SCHEDULES', 'FEATURE_FREQUENT_SCHEDULES'] as const),
      ...(['CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'NOT_CONFIGURED'] as const),
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
    access: {role: 'builder'},
    summary: 'Turn a schedule on or off',
    description:
      'What was due while it was off is not made up for. With `If-Match: "2"` it is refused where 2 is not its newest version any more.',
    answers: {200: ScheduleRead},
    refusals: ['BAD_IF_MATCH', 'NOT_FOUND', 'SCHEDULE_CONFLICT', 'LIMIT_SCHEDULES', 'FEATURE_FREQUENT_SCHEDULES'],
    example: {body: {enabled: true}, answer: {schedule: scheduleExample}},
    params: OfSchedule,
    body: z.strictObject({enabled: z.boolean().describe('Whether it fires by itself')}),
    async handle({db, caller, params, body, request}) {
      const asked = {...named(caller, params), condition: conditionOf(request)}
      return answer(db, await setEnabled({db}, asked, body.enabled))
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/templates/:id/schedules/:schedule',
    access: {role: 'builder'},
    summary: 'Delete a schedule with its history',
    description: 'A run it has started goes on. With `If-Match: "2"` it is refused where 2 is not its newest version any more.',
    answers: {200: ScheduleRemoved},
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
    access: {role: 'builder'},
    summary: 'Fire a schedule out of turn',
    description: 'On or off. The job fetches the file and begins the run; `GET …/firings` tells what came of it.',
    answers: {200: Fired, 202: Fired},
    refusals: ['NOT_FOUND', 'IMPORT_RUNNING', 'BUSY'],
    example: {body: {again: true}},
    params: OfSchedule,
    body: z.strictObject({again: z.boolean().default(false).describe('Also if the file is the one it ran last')}),
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const {firing, job} = await db.transaction(tx => fireNow(tx, queue, {...named(caller, params), ...body}))
      return answerJob(input, job, fireSchedule.name, {firing: describeFiring(firing)})
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/schedules/:schedule/firings',
    access: {role: 'builder'},
    summary: 'List the times a schedule fired',
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
