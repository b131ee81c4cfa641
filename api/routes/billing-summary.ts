import {readSummary} from '../../shared/billing/summary.ts'
import {BillingSummary} from '../answers/billing.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/billing/summary',
    access: {role: 'operator'},
    summary: 'Read all that a page about billing shows',
    description:
      'From our own rows: the payment provider is not asked. Plan, credits, usage, what can be bought, and what was told of late.',
    answers: {200: BillingSummary},
    refusals: [],
    handle: ({db, payment, caller: {org}}) => readSummary({db, payment}, org),
  }),
]
