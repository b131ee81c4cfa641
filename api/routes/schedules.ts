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
import {conditionOf} from '../if-match.ts'
import {limitOf} from '../page.ts'
import {answerJob} from '../prefer.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const OfTemplate = z.object({org: z.string(), id: z.string()})
const OfSchedule = OfTemplate.extend({schedule: z.string()})
const Page = z.object({limit: limitOf({usual: 50, most: 200}), cursor: z.string().optional()})

const askerOf = ({org, person, role}: Member) => ({org, person, rank: role})
const named = (caller: Member, {id, schedule}: z.output<typeof OfSchedule>) => ({...askerOf(caller), template: id, id: schedule})

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
    params: OfTemplate,
    query: Page,
    async handle({db, config, caller, params: {id: template}, query}) {
      const {org} = caller
      await findVisible(db, {...askerOf(caller), id: template})
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
    params: OfTemplate,
    body: NewSchedule,
    async handle({db, config, caller, params: {id}, body}) {
      return answer(db, await createSchedule({db, config}, {...askerOf(caller), template: id}, body), 201)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/schedules/:schedule',
    access: {role: 'builder'},
    params: OfSchedule,
    handle: async ({db, caller, params}) => answer(db, await findOwnSchedule(db, named(caller, params))),
  }),

  route({
    method: 'put',
    path: '/orgs/:org/templates/:id/schedules/:schedule',
    access: {role: 'builder'},
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
    params: OfSchedule,
    body: z.strictObject({enabled: z.boolean()}),
    async handle({db, caller, params, body, request}) {
      const asked = {...named(caller, params), condition: conditionOf(request)}
      return answer(db, await setEnabled({db}, asked, body.enabled))
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/templates/:id/schedules/:schedule',
    access: {role: 'builder'},
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
    params: OfSchedule,
    body: z.strictObject({again: z.boolean().default(false)}),
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
