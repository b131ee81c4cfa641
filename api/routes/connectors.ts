import {listConnectors} from '../../sql/connectors.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors',
    access: {role: 'operator'},
    async handle({db, caller}) {
      const connectors = await listConnectors(db, caller.org)
      return {
        connectors: connectors.map(({id, name, kind, dc, state, crmUserName, scopes, createdAt}) => ({
          ...{id, name, kind, dc, state, crmUserName, scopes, createdAt},
        })),
      }
    },
  }),
]
