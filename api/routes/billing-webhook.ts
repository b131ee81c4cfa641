import {z} from 'zod'
import {keepEvent} from '../../shared/billing/events/keep.ts'
import {listEvents} from '../../sql/payment-events.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

/** What the payment provider tells, and what has become of it. */
export default [
  route({
    method: 'post',
    path: '/billing/webhook',
    access: {public: true},
    body: 'bytes',
    async handle({db, queue, config, payment, body, request}) {
      return keepEvent({db, queue, config}, await payment.readEvent(body, request.headers['stripe-signature']))
    },
  }),

  route({
    method: 'get',
    path: '/billing/admin/events',
    access: {backoffice: true},
    query: z.object({limit: limitOf({usual: 50, most: 500})}),
    handle: async ({db, query}) => ({events: await listEvents(db, query)}),
  }),
]
