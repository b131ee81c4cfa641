import {readSummary} from '../../shared/billing/summary.ts'
import {BillingSummary} from '../answers/billing.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/billing/summary',
    operationId: 'readBilling',
    tag: 'Billing',
    access: {role: 'operator'},
    summary: 'Read the billing summary',
    description:
      'Plan, AI credits, usage, plans and packs on sale, and recent billing notices. Read from the database, without a call to the payment provider.',
    answers: {200: BillingSummary},
    refusals: [],
    handle: ({db, payment, caller: {org}}) => readSummary({db, payment}, org),
  }),
]
