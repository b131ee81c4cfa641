import {z} from 'zod'
import {NoticeKind} from '../../shared/notifications/kind.ts'
import {Answer, Id} from './common.ts'

export const NoticeRule = Answer({
  emails: z.array(z.string()).describe('Members who receive e-mail, by current address'),
  endpoints: z.array(Id('whk', 'The endpoint')).describe('Webhook endpoints that receive notices'),
  on: z.array(NoticeKind).describe('The kinds of notices'),
}).meta({id: 'NoticeRule', description: 'Recipients and kinds of notices'})

export const Notices = Answer({
  notices: NoticeRule.describe('Recipients of the org. Empty lists: no notices are sent'),
  mail: Answer({
    configured: z.boolean().describe('Whether this deployment can send e-mail. If not, addresses are refused'),
  }).describe('E-mail of this deployment'),
})

export const noticesExample = {
  notices: {emails: ['ana@example.org'], endpoints: ['whk_01k9m0v6f8e2r4t7w3y5z1a2b3'], on: ['run.ended' as const, 'usage.rows' as const]},
  mail: {configured: true},
}
