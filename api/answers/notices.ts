import {z} from 'zod'
import {NoticeKind} from '../../shared/notifications/kind.ts'
import {Answer, Id} from './common.ts'

export const NoticeRule = Answer({
  emails: z.array(z.string()).describe('Members who receive e-mail, by current address'),
  endpoints: z.array(Id('whk', 'The endpoint')).describe('Webhook endpoints that receive notices'),
  on: z.array(NoticeKind).describe('The kinds of notices'),
}).meta({id: 'NoticeRule', description: 'Recipients and kinds of notices'})
