import {z} from 'zod'
import {PAGES} from '../../shared/registry/pages.ts'
import {Answer, Id, Json, Moment, NextCursor} from './common.ts'

export const Change = Answer({
  id: Id('chg', 'The change'),
  page: z.enum(PAGES).describe('The page of the settings it belongs to'),
  subject: z.string().meta({description: 'What was changed', examples: ['field.description', 'module.enabled', 'member.role']}),
  target: z
    .string()
    .nullable()
    .meta({
      description: 'Of what: a module by its key, a field as `key.field`, a person by their name today; null: of the org',
      examples: ['leads.Email'],
    }),
  before: Json('What it was; null: nothing, or nobody can know'),
  after: Json('What it is since; null: it is gone'),
  proposedBy: z.literal('ai').nullable().describe('`ai`: the person used a value that an AI proposed; null: they did not say so'),
  registryVersion: z.int().nonnegative().nullable().describe('The version of the configuration it made; null: it made none'),
  userId: Id('per', 'Who changed it').nullable().describe('Who changed it; null: no person, or they were deleted'),
  userName: z.string().nullable().describe('Their name today; null as `userId` is'),
  userEmail: z.string().nullable().describe('Their e-mail address today; null as `userId` is'),
  via: z
    .enum(['session', 'token', 'oauth', 'payment', 'schedule', 'staff'])
    .describe('How: signed in, by an API token, by an MCP client, by the payment provider, by a schedule, by staff of the service'),
  tokenId: Id('tok', 'The API token').nullable().describe('The API token; null: by none'),
  tokenName: z.string().nullable().describe('What the token is called; null: by none'),
  connectorId: Id('con', 'The connection it is about').nullable().describe('The connection it is about; null: it is about the org'),
  createdAt: Moment('When it was changed; the same for all changes of one request'),
}).meta({id: 'Change', description: 'One value of the settings that changed'})

export const ChangePage = Answer({changes: z.array(Change).describe('The newest first'), nextCursor: NextCursor})

export const changeExample = {
  ...{id: 'chg_01k9m0v6f8e2r4t7w3y5z1a2b3', page: 'members', subject: 'member.role', target: 'Ben Example', before: 'operator'},
  ...{after: 'builder', proposedBy: null, registryVersion: null, userId: 'per_01k9m0v6f8e2r4t7w3y5z1a2b3', userName: 'Ana Example'},
  ...{userEmail: 'ana@example.org', via: 'session', tokenId: null, tokenName: null, connectorId: null},
  createdAt: '2026-03-01T08:30:00.000Z',
}
