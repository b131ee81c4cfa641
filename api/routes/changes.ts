import {z} from 'zod'
import {readHistory} from '../../shared/configuration/history.ts'
import {PAGES} from '../../shared/configuration/pages.ts'
import {Via} from '../../sql/changes.ts'
import {Answer, Id, Json, Moment, NextCursor} from '../answers/common.ts'
import {Cursor, limitOf} from '../paging.ts'
import {connector} from '../params.ts'
import {route} from '../route.ts'

const Change = Answer({
  id: Id('chg', 'The change'),
  page: z.enum(PAGES).describe('The page of the settings it belongs to'),
  subject: z.string().meta({description: 'What was changed', examples: ['field.description', 'module.enabled', 'member.role']}),
  target: z
    .string()
    .nullable()
    .meta({
      description: 'The object: a module by its key, a field as `key.field`, a person by their current name. Null: the org',
      examples: ['leads.Email'],
    }),
  before: Json('The value before. Null: none, or not known'),
  after: Json('The value after. Null: removed'),
  proposedBy: z.literal('ai').nullable().describe('`ai`: the person used a value proposed by AI. Null: not stated'),
  registryVersion: z
    .int()
    .nonnegative()
    .nullable()
    .describe('The version of the configuration it created. A bundle may create several. Null: none'),
  userId: Id('per', 'The person')
    .nullable()
    .describe('The person who changed it, or whose role or access the CRM changed. Null: no person, or the person was deleted'),
  userName: z.string().nullable().describe('Their current name. Null if `userId` is null'),
  userEmail: z.string().nullable().describe('Their current e-mail address. Null if `userId` is null'),
  via: Via.describe(`Made by a session, an API token, an MCP client, the payment provider, a schedule, or staff of the service. Besides plan and
credits, \`schedule\` covers stopped schedules and their imports, and \`staff\` the roles and tokens of erased people.`),
  tokenId: Id('tok', 'The API token').nullable().describe('The API token. Null: none'),
  tokenName: z.string().nullable().describe('Name of the token. Null: none'),
  connectorId: Id('con', 'The connection').nullable().describe('The connection. Null: the change concerns the org'),
  createdAt: Moment('When it changed. The same for all changes that created one version'),
}).meta({id: 'Change', description: 'A changed value of the settings'})

const changeExample = {
  id: 'chg_01k9m0v6f8e2r4t7w3y5z1a2b3',
  page: 'members',
  subject: 'member.role',
  target: 'Ben Example',
  before: 'operator',
  after: 'builder',
  proposedBy: null,
  registryVersion: null,
  userId: 'per_01k9m0v6f8e2r4t7w3y5z1a2b3',
  userName: 'Ana Example',
  userEmail: 'ana@example.org',
  via: 'session',
  tokenId: null,
  tokenName: null,
  connectorId: null,
  createdAt: '2026-03-01T08:30:00.000Z',
}

const Page = z.enum(PAGES)
/** The parameter may be repeated to name several pages. */
const pages = z
  .union([Page.transform(page => [page]), z.array(Page)])
  .optional()
  .describe('Only changes on these settings pages')

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/changes',
    operationId: 'listChanges',
    tag: 'Configuration',
    access: {role: 'operator'},
    summary: 'Read the history of the settings',
    description:
      'Every changed value, who changed it and how. Changes of modules, fields and write pauses are included only for the connection given in `connector`.',
    answers: {200: Answer({changes: z.array(Change).describe('Newest first'), nextCursor: NextCursor})},
    refusals: ['CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'INVALID_CURSOR'],
    example: {query: {page: 'members', limit: '50'}, answer: {changes: [changeExample], nextCursor: null}},
    query: z.object({
      connector,
      page: pages,
      limit: limitOf({usual: 50, most: 200}),
      cursor: Cursor,
    }),
    handle: ({db, config, caller: {org}, query: {page, ...asked}}) => readHistory(db, config.SECRETS_KEYS, {org, ...asked, pages: page}),
  }),
]
