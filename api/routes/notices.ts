import {Notify} from '../../shared/notices/notify.ts'
import {describeNotices, keepNotices} from '../../shared/notices/org.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/notices',
    access: {role: 'operator'},
    handle: ({db, config, caller: {org}}) => describeNotices(db, config, org),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/notices',
    access: {role: 'admin'},
    body: Notify,
    handle: ({db, config, caller, body}) => keepNotices({db, config}, caller, body),
  }),
]
