import {z} from 'zod'
import {addGeneric, NewConnector} from '../../shared/connectors/add.ts'
import {describeConnector} from '../../shared/connectors/describe.ts'
import {disconnect} from '../../shared/connectors/disconnect.ts'
import {renameConnector} from '../../shared/connectors/rename.ts'
import {oneLine} from '../../shared/name.ts'
import {listConnectors} from '../../sql/connectors.ts'
import {Answer} from '../answers/common.ts'
import {Connection} from '../answers/connections.ts'
import {route} from '../route.ts'

const OfConnector = z.object({org: z.string(), id: z.string().describe('The connection (`con_`)')})

const ofConnection = Answer({connector: Connection})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors',
    access: {role: 'operator'},
    summary: 'List the connections of the org',
    answers: {200: Answer({connectors: z.array(Connection).describe('Ended and disconnected ones too, the oldest first')})},
    refusals: [],
    example: {
      answer: {
        connectors: [
          {
            ...{
              id: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3',
              name: 'Example CRM',
              kind: 'zoho',
              dc: 'eu',
              state: 'connected',
              crmUserName: 'Ana Example',
            },
            ...{scopes: ['ZohoCRM.modules.ALL'], writesPaused: false, createdAt: '2026-03-01T08:30:00.000Z'},
          },
        ],
      },
    },
    handle: async ({db, caller}) => ({connectors: (await listConnectors(db, caller.org)).map(describeConnector)}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/connectors',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Add a plain REST destination',
    description:
      "One that needs nobody's consent: `document` says how it is spoken to, `secret` is sent as its `auth` says. The operator lists the origins that may be named. A CRM is connected by `POST /auth/orgs/{org}/connect` instead.",
    answers: {201: ofConnection},
    refusals: ['NOT_CONFIGURED'],
    example: {
      body: {
        ...{kind: 'generic', name: 'Our own API', secret: 'a-secret-of-yours'},
        document: {
          baseUrl: 'https://api.example.org',
          auth: {header: 'Authorization', scheme: 'Bearer'},
          modules: [
            {
              ...{apiName: 'contacts', label: 'Contacts', path: '/v1/contacts', idField: 'key', displayField: 'name'},
              fields: [
                {apiName: 'name', label: 'Name', type: 'text', required: true},
                {apiName: 'email', label: 'E-mail', type: 'email', unique: true},
              ],
            },
          ],
        },
      },
    },
    body: NewConnector,
    status: 201,
    handle: async ({db, config, caller, body}) => ({connector: describeConnector(await addGeneric({db, config}, caller, body))}),
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/connectors/:id',
    access: {role: 'admin'},
    summary: 'Rename a connection',
    answers: {200: ofConnection},
    refusals: ['NOT_FOUND'],
    example: {body: {name: 'Example CRM (Europe)'}},
    params: OfConnector,
    body: z.strictObject({name: oneLine(z.string().trim().min(1).max(100)).describe('What to call it')}),
    async handle({db, caller, params: {id}, body: {name}}) {
      return {connector: describeConnector(await renameConnector(db, caller, {id, name}))}
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/connectors/:id',
    access: {role: 'admin'},
    summary: 'Disconnect a connection',
    description:
      'Forgets what was granted, here and at the CRM, and ends the runs on it. It stays in the list; consenting again as the same CRM user connects it once more.',
    answers: {200: ofConnection},
    refusals: ['NOT_FOUND'],
    params: OfConnector,
    handle: async ({db, crm, caller, params: {id}}) => ({connector: describeConnector(await disconnect({db, crm}, caller, id))}),
  }),
]
