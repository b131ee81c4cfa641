import {z} from 'zod'
import {Notify} from '../../shared/notifications/notify.ts'
import {describeNotices, keepNotices} from '../../shared/notifications/org.ts'
import {Answer} from '../answers/common.ts'
import {NoticeRule} from '../answers/notices.ts'
import {route} from '../route.ts'

const Notices = Answer({
  notices: NoticeRule.describe('Recipients of the org. Empty lists: no notices are sent'),
  mail: Answer({
    configured: z.boolean().describe('Whether this deployment can send e-mail. If not, addresses are refused'),
  }).describe('E-mail of this deployment'),
})

const noticesExample = {
  notices: {emails: ['ana@example.org'], endpoints: ['whk_01k9m0v6f8e2r4t7w3y5z1a2b3'], on: ['run.ended' as const, 'usage.rows' as const]},
  mail: {configured: true},
}

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
    effect: 'access',
    summary: 'Set who receives notices',
    description: 'Replaces all recipients of the org. Only addresses of members are accepted. An empty list sends no notices.',
    answers: {200: Notices},
    refusals: ['NOT_CONFIGURED'],
    example: {body: noticesExample.notices, answer: noticesExample},
    body: Notify,
    handle: ({db, config, caller, body}) => keepNotices({db, config}, caller, body),
  }),
]
