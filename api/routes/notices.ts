import {Notify} from '../../shared/notices/notify.ts'
import {describeNotices, keepNotices} from '../../shared/notices/org.ts'
import {Notices, noticesExample} from '../answers/notices.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/notices',
    access: {role: 'operator'},
    summary: 'Read who is told of what happens',
    answers: {200: Notices},
    refusals: [],
    example: {answer: noticesExample},
    handle: ({db, config, caller: {org}}) => describeNotices(db, config, org),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/notices',
    access: {role: 'admin'},
    summary: 'Say who is told of what happens',
    description: 'In place of whoever was told of everything in the org. Only addresses of members are taken; empty lists tell nobody.',
    answers: {200: Notices},
    refusals: ['NOT_CONFIGURED'],
    example: {body: noticesExample.notices, answer: noticesExample},
    body: Notify,
    handle: ({db, config, caller, body}) => keepNotices({db, config}, caller, body),
  }),
]
