import {z} from 'zod'
import {describeEmbed} from '../../shared/embed/describe.ts'
import {createEmbedToken} from '../../shared/embed/embed-tokens.ts'
import {EmbedOrigin} from '../../shared/embed/origin.ts'
import {Refusal} from '../../shared/errors.ts'
import {Answer, ByName, Count, Id, Moment} from '../answers/common.ts'
import {connectorId} from '../answers/examples.ts'
import {OfOrg} from '../params.ts'
import {route} from '../route.ts'

const rowsLimit = Count('The rows that its runs may write in total')

const EmbedToken = Answer({
  id: Id('emb', 'The token'),
  template: Id('tpl', 'The template of its imports'),
  origin: z.string().describe('The origin of the page that embeds the import'),
  rowsLimit,
  createdAt: Moment('When it was created'),
  expiresAt: Moment('When it expires'),
}).meta({id: 'EmbedToken'})

const EmbedModule = Answer({
  label: z.string().describe('Its plural name in the CRM'),
  fields: ByName(z.string().describe('The name of the field in the CRM'), 'The fields that the template maps, by API name'),
})

const EmbedSession = Answer({
  org: Answer({
    id: Id('org', 'The org'),
    name: z.string().describe("The org's name"),
    dateFormat: z.string().describe('The date format of its settings'),
  }).describe('The org of the token'),
  template: Answer({id: Id('tpl', 'The template'), name: z.string().describe('Its name')}).describe('The template of its imports'),
  origin: z.string().describe('The origin of the page that embeds the import'),
  rowsLimit,
  rowsLeft: Count('How many of these rows are left'),
  expiresAt: Moment('When the token expires'),
  connection: Answer({
    id: Id('con', 'The connection'),
    name: z.string().describe('Its name'),
    state: z.string().describe('`connected`, or why it cannot be used'),
    writesPaused: z.boolean().describe('Whether an admin paused writing'),
    isDiscovered: z.boolean().describe('Whether its modules and fields are known'),
  })
    .nullable()
    .describe('The connection that imports write to. Null: the org has none'),
  modules: ByName(EmbedModule, 'The modules that the template writes, by API name. Empty until they are known'),
}).meta({id: 'EmbedSession'})

const NewEmbedToken = z.strictObject({
  template: z.string().max(100).describe('The template of the imports'),
  origin: EmbedOrigin.describe('The origin of the page that embeds the import. The settings of the org must list it in `embedOrigins`'),
  rowsLimit: z.int().min(1).max(1_000_000_000).describe('The most rows that runs of the token may write in total'),
  minutes: z.int().min(1).max(60).default(60).describe('How long the token is valid'),
})

const template = 'tpl_01k9m0v6f8e2r4t7w3y5z1a2b3'
const limits = {origin: 'https://app.example.com', rowsLimit: 5_000}
const expiresAt = '2026-03-01T09:30:00.000Z'

export default [
  route({
    method: 'post',
    path: '/orgs/:org/embed-tokens',
    operationId: 'createEmbedToken',
    tag: 'Embedding',
    access: {role: 'operator'},
    effect: 'access',
    summary: 'Create an embed token',
    description:
      'For the server of a page that embeds an import. The token creates and runs imports of one template, and reads only these imports. It ends when it expires, with the API token that created it, when the org removes its origin from the settings, or when its creator leaves the org. If the org has several connections, the template must have one. The secret is returned only once.',
    answers: {
      201: Answer({token: EmbedToken, secret: z.string().describe('The bearer token. Give it to the page only, never in an address')}),
    },
    refusals: ['NOT_FOUND', 'ORIGIN_NOT_ALLOWED', 'CONNECTION_REQUIRED'],
    example: {
      body: {template, ...limits, minutes: 60},
      answer: {
        token: {id: 'emb_01k9m0v6f8e2r4t7w3y5z1a2b3', template, ...limits, createdAt: '2026-03-01T08:30:00.000Z', expiresAt},
        secret: 'lading-embed_4f7Qx2mZ8sK1nB6vC3dR9tY5wE0aL7hG4jU2pI8oXs0000000',
      },
    },
    params: OfOrg,
    body: NewEmbedToken,
    status: 201,
    handle: ({db, caller, body}) => createEmbedToken(db, caller, body),
  }),

  route({
    method: 'get',
    path: '/auth/embed',
    operationId: 'describeEmbedToken',
    tag: 'Embedding',
    access: {role: 'operator', embed: 'scope'},
    summary: 'Describe an embed token',
    description: 'What the embedded page needs to know. Any other bearer is answered `NOT_FOUND`.',
    answers: {200: EmbedSession},
    refusals: ['NOT_FOUND', 'CONNECTION_REQUIRED'],
    example: {
      answer: {
        org: {id: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Example Ltd', dateFormat: 'dd.MM.yyyy'},
        template: {id: template, name: 'Customers'},
        ...limits,
        rowsLeft: 4_200,
        expiresAt,
        connection: {id: connectorId, name: 'Example CRM', state: 'connected', writesPaused: false, isDiscovered: true},
        modules: {Accounts: {label: 'Accounts', fields: {Account_Name: 'Account name'}}},
      },
    },
    handle({db, caller}) {
      if (!caller.embed) throw new Refusal('NOT_FOUND', 'This bearer is no embed token')
      return describeEmbed(db, {...caller, embed: caller.embed})
    },
  }),
]
