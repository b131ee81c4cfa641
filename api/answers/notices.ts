import {z} from 'zod'
import {Kind} from '../../shared/notices/kind.ts'
import {Answer, Id} from './common.ts'

export const NoticeRule = Answer({
  emails: z.array(z.string()).describe('Members who are told by e-mail, at the address they have today'),
  endpoints: z.array(Id('whk', 'The endpoint')).describe('Webhook endpoints that are told'),
  on: z.array(Kind).describe('What they are told of'),
}).meta({id: 'NoticeRule', description: 'Who is told, and of what'})

export const Notices = Answer({
  notices: NoticeRule.describe('Who is told of everything in the org; empty lists: nobody'),
  mail: Answer({
    configured: z.boolean().describe('Whether this installation sends e-mail at all; where not, no address can be named'),
  }).describe('E-mail of this installation'),
})

export const noticesExample = {
  notices: {emails: ['ana@example.org'], endpoints: ['whk_01k9m0v6f8e2r4t7w3y5z1a2b3'], on: ['run.ended' as const, 'usage.rows' as const]},
  mail: {configured: true},
}
