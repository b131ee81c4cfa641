import {z} from 'zod'
import {findOwn} from '../../shared/crm/choose.ts'
import {readCredits} from '../../shared/crm/credits.ts'
import {checkCredits} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {ask} from '../ask.ts'
import {route} from '../route.ts'

const OfConnector = z.object({org: z.string(), id: z.string()})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/credits',
    access: {role: 'operator'},
    params: OfConnector,
    async handle({db, caller, params}) {
      return {credits: await readCredits(db, await findOwn(db, {org: caller.org, id: params.id}))}
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/connectors/:id/credits/check',
    access: {role: 'operator'},
    params: OfConnector,
    async handle(input) {
      const {db, queue, caller, params} = input
      const connector = await findOwn(db, {org: caller.org, id: params.id})
      const payload = {org: caller.org, connector: connector.id}
      const id = await db.transaction(tx => enqueue(queue, checkCredits, payload, {tx}))
      const notHeard = async (asked: boolean) => ({credits: await readCredits(db, connector), asked, answered: false, notAsked: null})
      const describe = (end: 'unstarted' | 'unknown' | {answer: object}) =>
        typeof end === 'object' ? end.answer : notHeard(end === 'unknown')
      return ask(input, {job: checkCredits, id: id!, describe})
    },
  }),
]
