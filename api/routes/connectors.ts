import {z} from 'zod'
import {addGeneric, NewConnector} from '../../shared/crm/connectors/add.ts'
import {describeConnector} from '../../shared/crm/connectors/describe.ts'
import {disconnect} from '../../shared/crm/connectors/disconnect.ts'
import {renameConnector} from '../../shared/crm/connectors/rename.ts'
import {oneLine} from '../../shared/schema/name.ts'
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
    operationId: 'listConnections',
    tag: 'Connections',
    access: {role: 'operator'},
    summary: 'List the connections of the org',
    answers: {
      200: Answer({connectors: z.array(Connection).describe('All connections, ended and disconnected ones included, oldest first')}),
    },
    refusals: [],
    example: {
      answer: {
        connectors: [
          {
            id: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3',
            name: 'Example CRM',
            kind: 'zoho',
            dc: 'eu',
            state: 'connected',
            crmUserName: 'Ana Example',
            scopes: ['ZohoCRM.modules.ALL'],
            writesPaused: false,
            warnings: [],
            createdAt: '2026-03-01T08:30:00.000Z',
          },
        ],
      },
    },
    handle: async ({db, caller}) => ({connectors: (await listConnectors(db, caller.org)).map(describeConnector)}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/connectors',
    operationId: 'addConnection',
    tag: 'Connections',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Add a REST API as a connection',
    description:
      'For APIs that need no OAuth consent. `document` describes the API; `secret` is sent as its `auth` describes. The operator lists the allowed origins. To connect a CRM, use `POST /auth/orgs/{org}/connect`.',
    answers: {201: ofConnection},
    refusals: ['NOT_CONFIGURED'],
    example: {
      body: {
        kind: 'generic',
        name: 'Our own API',
        secret: 'a-secret-of-yours',
        document: {
          baseUrl: 'https://api.example.org',
          auth: {header: 'Authorization', scheme: 'Bearer'},
          modules: [
            {
              apiName: 'contacts',
              label: 'Contacts',
              path: '/v1/contacts',
              idField: 'key',
              displayField: 'name',
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
    operationId: 'renameConnection',
    tag: 'Connections',
    access: {role: 'admin'},
    summary: 'Rename a connection',
    answers: {200: ofConnection},
    refusals: ['NOT_FOUND'],
    example: {body: {name: 'Example CRM (Europe)'}},
    params: OfConnector,
    body: z.strictObject({name: oneLine(z.string().trim().min(1).max(100)).describe('The new name')}),
    async handle({db, caller, params: {id}, body: {name}}) {
      return {connector: describeConnector(await renameConnector(db, caller, {id, name}))}
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/connectors/:id',
    operationId: 'disconnectConnection',
    tag: 'Connections',
    access: {role: 'admin'},
    summary: 'Disconnect a connection',
    description:
      'Revokes the access tokens, here and at the CRM, and ends the runs of the connection. The connection stays in the list. Consent by the same CRM user reconnects it.',
    answers: {200: ofConnection},
    refusals: ['NOT_FOUND'],
    params: OfConnector,
    handle: async ({db, crm, caller, params: {id}}) => ({connector: describeConnector(await disconnect({db, crm}, caller, id))}),
  }),
]
