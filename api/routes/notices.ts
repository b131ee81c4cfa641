import {Notify} from '../../shared/notifications/notify.ts'
import {describeNotices, keepNotices} from '../../shared/notifications/org.ts'
import {Notices, noticesExample} from '../answers/notices.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/notices',
    operationId: 'readNotices',
    tag: 'Notices',
    access: {role: 'operator'},
    summary: 'Read who receives notices',
    answers: {200: Notices},
    refusals: [],
    example: {answer: noticesExample},
    handle: ({db, config, caller: {org}}) => describeNotices(db, config, org),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/notices',
    operationId: 'setNotices',
    tag: 'Notices',
    access: {role: 'admin'},
    summary: 'Set who receives notices',
    description: 'Replaces all recipients of the org. Only addresses of members are accepted. An empty list sends no notices.',
    answers: {200: Notices},
    refusals: ['NOT_CONFIGURED'],
    example: {body: noticesExample.notices, answer: noticesExample},
    body: Notify,
    handle: ({db, config, caller, body}) => keepNotices({db, config}, caller, body),
  }),
]
