import {z} from 'zod'
import {addGeneric, NewConnector} from '../../shared/connectors/add.ts'
import {describeConnector} from '../../shared/connectors/describe.ts'
import {disconnect} from '../../shared/connectors/disconnect.ts'
import {renameConnector} from '../../shared/connectors/rename.ts'
import {listConnectors} from '../../sql/connectors.ts'
import {route} from '../route.ts'

const OfConnector = z.object({org: z.string(), id: z.string()})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors',
    access: {role: 'operator'},
    handle: async ({db, caller}) => ({connectors: (await listConnectors(db, caller.org)).map(describeConnector)}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/connectors',
    access: {role: 'admin'},
    body: NewConnector,
    status: 201,
    handle: async ({db, config, caller, body}) => ({connector: describeConnector(await addGeneric({db, config}, caller, body))}),
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/connectors/:id',
    access: {role: 'admin'},
    params: OfConnector,
    body: z.strictObject({name: z.string().trim().min(1).max(100)}),
    async handle({db, caller, params: {id}, body: {name}}) {
      return {connector: describeConnector(await renameConnector(db, caller, {id, name}))}
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/connectors/:id',
    access: {role: 'admin'},
    params: OfConnector,
    handle: async ({db, crm, caller, params: {id}}) => ({connector: describeConnector(await disconnect({db, crm}, caller, id))}),
  }),
]
