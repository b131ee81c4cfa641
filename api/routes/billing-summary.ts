import {readSummary} from '../../shared/billing/summary.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/billing/summary',
    access: {role: 'operator'},
    handle: ({db, payment, caller: {org}}) => readSummary({db, payment}, org),
  }),
]
